package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/search/explainlog"
)

// limitedQuery has a limit: a server that knows its names searches in one statement, outside of a transaction.
const limitedQuery = emptyQuery + "&limit=10"

// newLimited starts a server with limits that records and explains as berth serve does. Its computations take a minute, if
// they must.
func newLimited(t *testing.T, db *dbtest.DB, limits server.Limits) *explaining {
	t.Helper()
	made := &explaining{t: t}
	made.Server = servertest.New(t, servertest.Options{DB: db, StandardNames: true, Server: func(options *server.Options) {
		made.log = explainlog.New(explainlog.Options{
			Settings: explainlog.Settings{Keep: 24 * time.Hour, Rows: 1000, Timeout: time.Minute}, Store: options.Store,
			Log: slog.New(slog.DiscardHandler), Explain: placement.StoredExplainer(options.Store, options.Placement.Candidates, time.Minute),
		})
		options.Explanations, options.Limits = made.log, limits
	}})
	made.log.Start()
	t.Cleanup(func() { made.log.Close(context.Background()) })
	return made
}

// lockNames locks a table that a search in a snapshot reads, and others do not once they know the names. So explanations
// wait. It returns a function that ends the lock.
func (s *explaining) lockNames() (unlock func()) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.DB.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(s.t.Context(), "BEGIN; LOCK TABLE resource_classes IN ACCESS EXCLUSIVE MODE"); err != nil {
		s.t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if _, err := conn.Exec(context.Background(), "ROLLBACK"); err != nil {
			s.t.Error(err)
		}
	})
}

// awaitWaiting waits until so many sessions wait for the lock, and returns their number.
func (s *explaining) awaitWaiting(want int) (waiting int) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if err := s.DB.Pool.QueryRow(s.t.Context(), `SELECT count(*) FROM pg_locks WHERE relation = 'resource_classes'::regclass AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting); err != nil {
			s.t.Fatal(err)
		}
		if waiting >= want || time.Now().After(deadline) {
			return waiting
		}
	}
}

// explainedBody is a response with an explanation.
type explainedBody struct {
	AllocationRequests []any                      `json:"allocation_requests"`
	ProviderSummaries  map[string]any             `json:"provider_summaries"`
	Explanation        map[string]json.RawMessage `json:"explanation"`
}

const shortBody = `{"allocation_requests":[],"provider_summaries":{},"explanation":` +
	`{"kind":"candidates","reason":"amount","summary":"No provider has room for one of the amounts.","incomplete":true}}` + "\n"

// wantIdle checks that all places, slots and connections are free.
func (s *explaining) wantIdle() {
	s.t.Helper()
	for range 2 {
		leave, entered := s.log.Maker().TryEnter()
		if !entered {
			s.t.Error("a place for an explanation is not given back")
			continue
		}
		defer leave()
	}
	for deadline := time.Now().Add(20 * time.Second); s.Store.Pool().Stat().AcquiredConns() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("acquired connections = %d, want 0", s.Store.Pool().Stat().AcquiredConns())
		}
	}
	if w := s.get(limitedQuery, "placement 1.39"); w.Code != http.StatusOK {
		s.t.Errorf("status = %d: %s, want 200", w.Code, w.Body)
	}
}

// TestExplain_ManyClients_ComputesTwoAtOnce has 64 clients that each want an explanation. While two are computed, the
// others get short forms, and other requests of the same caller are answered.
func TestExplain_ManyClients_ComputesTwoAtOnce(t *testing.T) {
	t.Parallel()
	const clients = 64
	s := newLimited(t, dbtest.New(t), server.Limits{Requests: 2, Queue: clients, Wait: time.Minute, PerCaller: clients})
	warm := s.get(limitedQuery, "placement 1.39").Body.String() // the server knows the names
	unlock := s.lockNames()
	defer unlock()
	answers := make(chan *httptest.ResponseRecorder, clients)
	for range clients {
		go func() { answers <- s.get(limitedQuery+"&explain=empty", withExplanations) }()
	}
	for range clients - 2 {
		if w := <-answers; w.Code != http.StatusOK || w.Body.String() != shortBody {
			t.Errorf("response = %d %s, want the short form", w.Code, w.Body)
		}
	}
	if got := s.awaitWaiting(2); got != 2 {
		t.Errorf("explanations = %d, want 2 at once", got)
	}
	for range clients {
		if w := s.get(limitedQuery, "placement 1.39"); w.Code != http.StatusOK || w.Body.String() != warm {
			t.Errorf("response without explain = %d %s, want %s", w.Code, w.Body, warm)
		}
	}
	unlock()
	for range 2 {
		body := decode[explainedBody](t, <-answers)
		if body.Explanation["incomplete"] != nil || body.Explanation["sample"] == nil || len(body.AllocationRequests) != 0 {
			t.Errorf("explanation = %s, want a complete one", body.Explanation)
		}
	}
	s.wantIdle()
	metrics := s.get("/metrics", "placement 1.39").Body.String()
	if want := `berth_explanations_total{when="request"} 2` + "\n"; !strings.Contains(metrics, want) {
		t.Errorf("metrics lack %s", want)
	}
}

// TestExplain_Always_NeedsNoSlot computes an explanation on a server with one slot.
func TestExplain_Always_NeedsNoSlot(t *testing.T) {
	t.Parallel()
	s := newLimited(t, dbtest.New(t), server.Limits{Requests: 1, PerCaller: 1})
	s.get(limitedQuery, "placement 1.39")
	unlock := s.lockNames()
	defer unlock()
	answers := make(chan *httptest.ResponseRecorder, 1)
	go func() { answers <- s.get(limitedQuery+"&explain=always", withExplanations) }()
	if got := s.awaitWaiting(1); got != 1 {
		t.Fatalf("explanations = %d, want 1", got)
	}
	if w := s.get(limitedQuery, "placement 1.39"); w.Code != http.StatusOK {
		t.Errorf("status = %d: %s, want 200", w.Code, w.Body)
	}
	unlock()
	if body := decode[explainedBody](t, <-answers); body.Explanation["sample"] == nil {
		t.Errorf("explanation = %s, want a complete one", body.Explanation)
	}
	s.wantIdle()
}

// TestExplain_ClientGone_PlaceGivenBack cancels requests during the computation.
func TestExplain_ClientGone_PlaceGivenBack(t *testing.T) {
	t.Parallel()
	for _, explains := range []string{"empty", "always"} {
		t.Run(explains, func(t *testing.T) {
			t.Parallel()
			s := newLimited(t, dbtest.New(t), server.Limits{Requests: 1, PerCaller: 4})
			s.get(limitedQuery, "placement 1.39")
			unlock := s.lockNames()
			defer unlock()
			ctx, cancel := context.WithCancel(t.Context())
			var clients sync.WaitGroup
			for range 3 { // the third waits for a place
				clients.Go(func() {
					r := httptest.NewRequestWithContext(ctx, http.MethodGet, limitedQuery+"&explain="+explains, nil)
					r.Header.Set("X-Auth-Token", "admin")
					r.Header.Set("OpenStack-API-Version", withExplanations)
					s.Handler.ServeHTTP(httptest.NewRecorder(), r)
				})
			}
			if got := s.awaitWaiting(1); got == 0 {
				t.Fatal("no explanation is computed")
			}
			cancel()
			clients.Wait() // while the lock is held
			unlock()
			s.wantIdle()
		})
	}
}

// TestExplain_AlwaysForLongResponse_ExplainedAtItsEnd has a response of several parts. Without a place it has the short form.
func TestExplain_AlwaysForLongResponse_ExplainedAtItsEnd(t *testing.T) {
	t.Parallel()
	const hosts = 3000
	s := newLimited(t, dbtest.New(t), server.Limits{Requests: 1})
	if _, err := s.DB.Pool.Exec(t.Context(), `WITH host AS (
		INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
		SELECT n, gen_random_uuid(), 'host-' || n, n FROM generate_series(1, $1::int) AS n RETURNING id)
		INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
		SELECT host.id, class.id, host.id, 16, 0, 1, 16, 1, 1 FROM host, resource_classes AS class WHERE class.name = 'VCPU'`, hosts); err != nil {
		t.Fatal(err)
	}
	for _, hasPlace := range []bool{true, false} {
		if !hasPlace {
			for range 2 {
				leave, _ := s.log.Maker().TryEnter()
				defer leave()
			}
		}
		body := decode[explainedBody](t, s.get(emptyQuery+"&explain=always", withExplanations))
		if len(body.AllocationRequests) != hosts || len(body.ProviderSummaries) != hosts {
			t.Errorf("candidates = %d of %d providers, want %d", len(body.AllocationRequests), len(body.ProviderSummaries), hosts)
		}
		if reason := string(body.Explanation["reason"]); reason != `"fits"` || (body.Explanation["sample"] != nil) != hasPlace {
			t.Errorf("place %t: explanation = %s", hasPlace, body.Explanation)
		}
	}
	if acquired := s.Store.Pool().Stat().AcquiredConns(); acquired != 0 {
		t.Errorf("acquired connections = %d, want 0", acquired)
	}
}

// TestExplain_SecondSearchFails_ReturnsShortForm renames a table that only the search in a snapshot reads.
func TestExplain_SecondSearchFails_ReturnsShortForm(t *testing.T) {
	t.Parallel()
	s := newLimited(t, dbtest.New(t), server.Limits{Requests: 1})
	s.get(limitedQuery, "placement 1.39")
	if _, err := s.DB.Pool.Exec(t.Context(), "ALTER TABLE resource_classes RENAME TO renamed"); err != nil {
		t.Fatal(err)
	}
	for _, explains := range []string{"empty", "always"} {
		for range 3 { // more than there are places
			if w := s.get(limitedQuery+"&explain="+explains, withExplanations); w.Code != http.StatusOK || w.Body.String() != shortBody {
				t.Errorf("%s: response = %d %s, want %s", explains, w.Code, w.Body, shortBody)
			}
		}
	}
	s.wantIdle()
}

// TestExplain_NoPlace_SearchesOnce: a request without a place for its explanation costs no more statements than one without
// an explanation.
func TestExplain_NoPlace_SearchesOnce(t *testing.T) {
	t.Parallel()
	s := newLimited(t, dbtest.New(t), server.Limits{})
	for range 2 {
		leave, _ := s.log.Maker().TryEnter()
		defer leave()
	}
	trips := func(target string) int64 {
		least := int64(100)
		for range 10 { // the first ones prepare statements, learn names and find the reason
			before := s.roundTrips()
			if w := s.get(target, withExplanations); w.Code != http.StatusOK {
				t.Errorf("%s: status = %d", target, w.Code)
			}
			least = min(least, s.roundTrips()-before)
		}
		return least
	}
	plain := trips(limitedQuery)
	for _, explains := range []string{"empty", "always"} {
		if got := trips(limitedQuery + "&explain=" + explains); got != plain {
			t.Errorf("explain=%s: round trips = %d, want %d", explains, got, plain)
		}
	}
}

// roundTrips returns how many round trips to the database all requests have made.
func (s *explaining) roundTrips() (sum int64) {
	s.t.Helper()
	for line := range strings.SplitSeq(s.get("/metrics", "placement 1.39").Body.String(), "\n") {
		if name, value, _ := strings.Cut(line, " "); strings.HasPrefix(name, "berth_sql_round_trips_total") {
			var trips int64
			if _, err := fmt.Sscan(value, &trips); err != nil {
				s.t.Fatal(err)
			}
			sum += trips
		}
	}
	return sum
}
