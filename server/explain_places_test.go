package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server/search/explainlog"
)

// async sends a request, whose response is sent to the returned channel.
func (s *explaining) async(target string) <-chan *httptest.ResponseRecorder {
	response := make(chan *httptest.ResponseRecorder, 1)
	go func() { response <- s.get(target, withExplanations) }()
	return response
}

// TestExplain_SearchForExplanationFails_ReturnsShortForm breaks the database between the search and that for its explanation.
func TestExplain_SearchForExplanationFails_ReturnsShortForm(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	s.provider("host-1", object{"VCPU": object{"total": 16}})
	first, _ := s.log.Maker().Enter(t.Context(), explainlog.OnRequest)
	second, _ := s.log.Maker().Enter(t.Context(), explainlog.OnRequest)
	defer first()
	before := s.Store.Pool().Stat().AcquireCount()
	response := s.async("/allocation_candidates?resources=VCPU:400&explain=empty")
	const searches = 2 // that of the candidates, and that of the reason
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if stat := s.Store.Pool().Stat(); stat.AcquireCount() >= before+searches && stat.AcquiredConns() == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the search does not end")
		}
	}
	if _, err := s.DB.Pool.Exec(t.Context(), "ALTER TABLE inventories RENAME TO broken"); err != nil {
		t.Fatal(err)
	}
	second()
	want := `{"allocation_requests":[],"provider_summaries":{},"explanation":{"kind":"candidates","reason":"amount",` +
		`"summary":"No provider has room for one of the amounts.","incomplete":true}}`
	if w := <-response; w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("response = %d %s, want %s", w.Code, w.Body, want)
	}
}

// TestExplain_RepeatedParameterOfGroup_GroupNamedOnce repeats an aggregate without members.
func TestExplain_RepeatedParameterOfGroup_GroupNamedOnce(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	s.provider("host-1", object{"VCPU": object{"total": 16}})
	const member = "&member_of=c0ffee00-0000-4000-8000-0000000000aa"
	w := s.get("/allocation_candidates?resources=VCPU:4&explain=empty"+member+member, withExplanations)
	const want = `"conflicts":[{"conflict":"aggregate_empty","groups":[""],"name":"c0ffee00-0000-4000-8000-0000000000aa"}]`
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
		t.Errorf("response = %d %s, want %s", w.Code, w.Body, want)
	}
}
