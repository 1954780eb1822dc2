package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/explainlog"
	"github.com/berthd/berth/server/placement"
	"github.com/berthd/berth/server/policy"
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

// TestExplain_RecordingOn_CostsNoRoundTrip compares a server that records with one that does not.
func TestExplain_RecordingOn_CostsNoRoundTrip(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	trips := map[bool]int64{}
	for _, records := range []bool{true, false} {
		keep := time.Duration(0)
		if records {
			keep = time.Hour
		}
		s := newExplaining(t, db, keep)
		for range 10 {
			s.get(limitedQuery, "placement 1.39") // prepares statements, learns names and finds the reason
		}
		before := s.roundTrips()
		for range 50 {
			s.get(limitedQuery, "placement 1.39")
		}
		trips[records] = s.roundTrips() - before
	}
	if trips[true] != trips[false] || trips[false] == 0 {
		t.Errorf("round trips = %d with recording, %d without, want the same", trips[true], trips[false])
	}
}

// TestExplain_RecordingOn_OneMoreAllocation runs alone, because it counts the allocations of the process.
func TestExplain_RecordingOn_OneMoreAllocation(t *testing.T) {
	db := dbtest.New(t)
	handlers := map[bool]http.Handler{}
	for _, records := range []bool{true, false} {
		made := servertest.New(t, servertest.Options{DB: db, StandardNames: true, Server: func(options *server.Options) {
			settings := explainlog.Settings{Timeout: time.Second}
			if records {
				settings.Keep = time.Hour
			}
			// It is not started: its queue takes 1,000 records.
			options.Explanations = explainlog.New(explainlog.Options{Settings: settings, Store: options.Store, Log: slog.New(slog.DiscardHandler)})
		}})
		handlers[records] = made.Handler
	}
	least := map[bool]float64{}
	for range 5 {
		for records, handler := range handlers {
			s := &explaining{Server: &servertest.Server{Handler: handler}, t: t}
			count := testing.AllocsPerRun(100, func() { s.get(limitedQuery, "placement 1.39") })
			if known, ok := least[records]; !ok || count < known {
				least[records] = count
			}
		}
	}
	if least[true] > least[false]+1 {
		t.Errorf("allocations = %v with recording, %v without, want at most one more", least[true], least[false])
	}
}

// TestExplain_MoreThanRateOrQueue_AllAnsweredAndCounted sends more empty queries than the writer accepts in a second, or
// than fit into the queue of a log that writes nothing.
func TestExplain_MoreThanRateOrQueue_AllAnsweredAndCounted(t *testing.T) {
	t.Parallel()
	const sent = 1100
	for _, writes := range []bool{true, false} {
		t.Run(fmt.Sprintf("writes %t", writes), func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			want := newExplaining(t, db, 0).get(limitedQuery, "placement 1.39").Body.String()
			s := &explaining{t: t}
			s.Server = servertest.New(t, servertest.Options{DB: db, StandardNames: true, Server: func(options *server.Options) {
				s.log = explainlog.New(explainlog.Options{
					Settings: explainlog.Settings{Keep: time.Hour, Rows: 10_000, Timeout: time.Second}, Store: options.Store, Log: slog.New(slog.DiscardHandler),
				})
				options.Explanations = s.log
			}})
			if writes {
				s.log.Start()
			}
			for range sent {
				if w := s.get(limitedQuery, "placement 1.39"); w.Code != http.StatusOK || w.Body.String() != want {
					t.Fatalf("response = %d %s, want %s", w.Code, w.Body, want)
				}
			}
			if !writes {
				s.log.Start() // Close writes the queue
			}
			s.log.Close(t.Context())
			var recorded, counted, dropped int
			if err := db.Pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM explanation_requests), (SELECT sum(requests) FROM explanations)").
				Scan(&recorded, &counted); err != nil {
				t.Fatal(err)
			}
			metrics := s.get("/metrics", "placement 1.39").Body.String()
			for line := range strings.SplitSeq(metrics, "\n") {
				if name, value, _ := strings.Cut(line, " "); strings.HasPrefix(name, "berth_explanations_dropped_total{") {
					var one int
					_, _ = fmt.Sscan(value, &one)
					dropped += one
				}
			}
			if recorded+dropped != sent || recorded != counted || recorded < 200 || dropped < 100 {
				t.Errorf("recorded = %d (%d counted), dropped = %d, want %d in total", recorded, counted, dropped, sent)
			}
			if line := fmt.Sprintf("berth_allocation_candidates_empty_total{reason=\"amount\"} %d\n", sent); !strings.Contains(metrics, line) {
				t.Errorf("metrics lack %s", line)
			}
		})
	}
}

// TestExplain_RuleOfParameter_DeniedByPersona has a policy in which every caller may list candidates. The parameter needs
// its own rule.
func TestExplain_RuleOfParameter_DeniedByPersona(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("\"placement:allocation_candidates:list\": \"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, _, err := policy.Open(policy.Defaults(), policy.Files{Main: file, Required: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &explaining{t: t, Server: servertest.New(t, servertest.Options{StandardNames: true, Server: func(options *server.Options) {
		options.Policy, options.BaremetalPolicy = rules, rules
	}})}
	for _, c := range []struct{ target, want string }{
		{limitedQuery, "yyyyyyss"}, {limitedQuery + "&explain=empty", "yyy---ss"}, {limitedQuery + "&explain=always", "yyy---ss"},
	} {
		var got strings.Builder
		for _, persona := range personas {
			w := s.get(c.target, withExplanations, append([]string{"X-Auth-Token", "u:mine"}, persona.headers...)...)
			switch body := w.Body.String(); {
			case w.Code == http.StatusOK:
				got.WriteByte('y')
			case w.Code == http.StatusForbidden && strings.Contains(body, "Policy does not allow berth:explanations:make to be performed."):
				got.WriteByte('-')
			case w.Code == http.StatusForbidden:
				got.WriteByte('s')
			default:
				t.Errorf("%s: status = %d: %s", persona.name, w.Code, body)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: decisions = %s, want %s", c.target, &got, c.want)
		}
	}
}
