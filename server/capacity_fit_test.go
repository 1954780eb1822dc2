package server_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/servertest"
)

const withCapacity = "placement 1.39, berth 1.4"

// fitAnswer is a response of POST /capacity.
type fitAnswer struct {
	Fit    int
	AtMost *int `json:"at_most"`
	Exact  bool
}

// fits asks how many members fit of one group on a NUMA node.
func (s *explaining) fits(relation string, vcpu, memory int) fitAnswer {
	s.t.Helper()
	asked := object{"query": object{"groups": object{"_NUMA": object{"resources": object{"VCPU": vcpu, "MEMORY_MB": memory}}}}}
	if relation != "" {
		asked["relation"] = object{relation: "root"}
	}
	w := s.send(http.MethodPost, "/capacity", withCapacity, asked)
	s.must(w)
	return decode[fitAnswer](s.t, w)
}

// TestClaim_SeveralOfCapacityFit_SucceedAndOneMoreDoesNot claims as many consumers as fit. One more is refused before it, and
// none fits after it, until no relation leaves room.
func TestClaim_SeveralOfCapacityFit_SucceedAndOneMoreDoesNot(t *testing.T) {
	t.Parallel()
	made, _, _, _ := numaHosts(t)
	rng := rand.New(rand.NewPCG(7, 31))
	for range 12 {
		vcpu, memory := 1+rng.IntN(12), 1024*(1+rng.IntN(20))
		relation := []string{"", "apart", "together"}[rng.IntN(3)]
		found := made.fits(relation, vcpu, memory)
		if !found.Exact || found.AtMost == nil || *found.AtMost != found.Fit {
			t.Fatalf("found = %+v, want an exact number", found)
		}
		claim := func(count int) object {
			body := claimSeveral(count, "apart", vcpu, memory)
			if delete(body, "relation"); relation != "" {
				body["relation"] = object{relation: "root"}
			}
			return body
		}
		if w := made.send(http.MethodPost, "/claims", withClaims, claim(found.Fit+1)); w.Code != http.StatusConflict {
			t.Fatalf("claim of %d, relation %q: status = %d, want 409: %s", found.Fit+1, relation, w.Code, w.Body)
		}
		if found.Fit > 0 {
			made.must(made.send(http.MethodPost, "/claims?dry_run=true", withClaims, claim(found.Fit)))
			made.must(made.send(http.MethodPost, "/claims", withClaims, claim(1+rng.IntN(found.Fit))))
		}
	}
}

// TestLimits_ThirdCapacityFitOfCaller_Returns503 blocks two queries of a caller at a lock.
func TestLimits_ThirdCapacityFitOfCaller_Returns503(t *testing.T) {
	t.Parallel()
	made := &explaining{t: t, Server: servertest.New(t, servertest.Options{StandardNames: true})}
	made.provider("host-1", object{"VCPU": object{"total": 16}})
	body := object{"query": object{"groups": object{"": object{"resources": object{"VCPU": 1}}}}}
	block, err := made.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer block.Rollback(context.Background()) //nolint:errcheck // it is over by then, unless the test fails
	if _, err := block.Exec(t.Context(), "LOCK TABLE inventories"); err != nil {
		t.Fatal(err)
	}
	answers := make(chan *httptest.ResponseRecorder, 3)
	ask := func(token string) {
		go func() {
			answers <- made.send(http.MethodPost, "/capacity", withCapacity, body, "X-Auth-Token", token)
		}()
	}
	ask("admin")
	ask("admin")
	made.waitForBlocked(2)
	third := made.send(http.MethodPost, "/capacity", withCapacity, body)
	const want = "2 of your questions about capacity are still running. Try again later."
	var failed refusal
	if err := json.Unmarshal(third.Body.Bytes(), &failed); err != nil || len(failed.Errors) != 1 {
		t.Fatalf("third question: %s, %v", third.Body, err)
	}
	if third.Code != http.StatusServiceUnavailable || failed.Errors[0].Code != "berth.capacity.busy" || !strings.Contains(failed.Errors[0].Detail, want) ||
		third.Header().Get("Retry-After") != "1" {
		t.Errorf("third question: %d %v %s, want 503 berth.capacity.busy", third.Code, third.Header(), third.Body)
	}
	ask("admin:other-project")
	made.waitForBlocked(3)
	if err := block.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if w := <-answers; w.Code != http.StatusOK {
			t.Errorf("status = %d, want 200: %s", w.Code, w.Body)
		}
	}
	made.must(made.send(http.MethodPost, "/capacity", withCapacity, body))
}

// waitForBlocked waits until some sessions wait for a lock.
func (s *explaining) waitForBlocked(count int) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var blocked int
		err := s.DB.Pool.QueryRow(s.t.Context(),
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&blocked)
		if err != nil {
			s.t.Fatal(err)
		}
		if blocked >= count {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("blocked sessions = %d, want %d", blocked, count)
		}
	}
}
