package console_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/client"
)

// TestConsole_QueriesOfPages_NeitherCountedNorRecorded opens pages that repeat a query without candidates, between two such
// queries of a client. Only those of the client are counted and recorded.
func TestConsole_QueriesOfPages_NeitherCountedNorRecorded(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	smallCloud(t, s, 2)
	const query, later = "resources=VCPU:32", "resources=VCPU:33"
	ask := func(query string) {
		if found := must(s.api.QuestionList(t.Context(), query))(t); len(found.AllocationRequests) > 0 {
			t.Fatalf("%s: %d candidates, want none", query, len(found.AllocationRequests))
		}
	}
	ask(query)
	s.recorded(t, 1)
	for range 3 {
		for _, path := range []string{"/candidates?" + query, "/candidates/funnel?" + query, "/candidates?resources=VCPU:1", ""} {
			if status, body := s.get(t, "/console"+path, nil); status != http.StatusOK {
				t.Fatalf("%s: status = %d: %s", path, status, textOf(body))
			}
		}
	}
	ask(later)
	s.recorded(t, 2) // what the pages had recorded would come before
	for _, one := range must(s.api.ExplanationList(t.Context(), client.ExplanationFilter{}))(t) {
		if one.Requests != 1 {
			t.Errorf("%s is recorded %d times, want once", one.Question, one.Requests)
		}
	}
	metrics := s.metrics(t)
	for name, want := range map[string]string{"empty_total": "2", "returned_count": "2"} {
		counts := regexp.MustCompile(`(?m)^berth_allocation_candidates_`+name+`(?:\{[^}]*\})? ([1-9]\d*)$`).FindAllStringSubmatch(metrics, -1)
		if len(counts) != 1 || counts[0][1] != want {
			t.Errorf("%s = %v, want one series with %s", name, counts, want)
		}
	}
	if !strings.Contains(metrics, `operation="candidate-list"`) {
		t.Error("the requests of the console are not in the metrics")
	}
}

// metrics returns the metrics of the service.
func (s *site) metrics(t testing.TB) string {
	t.Helper()
	answer, err := http.Get(s.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("metrics: status = %d, error = %v", answer.StatusCode, err)
	}
	return string(body)
}
