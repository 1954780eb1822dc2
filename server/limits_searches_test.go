package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fairqueue"
)

// searchServer is a server whose searches run in a pool that a test can fill.
type searchServer struct {
	*servertest.Server
	t        *testing.T
	searches *searchpool.Pool
}

const (
	searchedHost = "aa000000-0000-4000-8000-000000000001"
	searchVCPU   = "/allocation_candidates?resources=VCPU:1&limit=10"
)

// searchedData is a host with twelve devices.
const searchedData = `
	INSERT INTO resource_classes (id, name) VALUES (20000, 'CUSTOM_PANEL');
	INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE VALUES (1, '` + searchedHost + `', 'host', 1);
	INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
	SELECT n, gen_random_uuid(), 'panel ' || n, 1, 1 FROM generate_series(2, 13) AS n;
	INSERT INTO provider_generations (provider_id, generation) SELECT n, 0 FROM generate_series(1, 13) AS n;
	INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
	SELECT n, CASE n WHEN 1 THEN 0 ELSE 20000 END, 1, 100, 0, 1, 100, 1, 1, 0 FROM generate_series(1, 13) AS n`

func newSearchServer(t *testing.T, options searchpool.Options) *searchServer {
	t.Helper()
	s := &searchServer{t: t, searches: searchpool.New(options)}
	s.Server = servertest.New(t, servertest.Options{StandardNames: true, Server: func(options *server.Options) {
		options.Searches = s.searches
	}})
	if _, err := s.DB.Pool.Exec(t.Context(), searchedData); err != nil {
		t.Fatal(err)
	}
	return s
}

// hold occupies turns of searches until the returned function is called.
func (s *searchServer) hold(class fairqueue.Class, turns int) (end func()) {
	s.t.Helper()
	var held []*searchpool.Turn
	for range turns {
		ctx := auth.With(s.t.Context(), auth.Caller{UserID: "holder"})
		turn, err := searchpool.Run(ctx, s.searches, class, func(_ context.Context, turn *searchpool.Turn) (*searchpool.Turn, error) {
			turn.Keep()
			return turn, nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
		held = append(held, turn)
	}
	return func() {
		for _, turn := range held {
			turn.Leave()
		}
	}
}

// send sends a request of a user with all extensions.
func (s *searchServer) send(ctx context.Context, user, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("X-Auth-Token", user)
	r.Header.Set("X-Roles", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.5")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	return w
}

// awaitWaiting returns when so many searches wait.
func (s *searchServer) awaitWaiting(want int) {
	for s.searches.State().Waiting != want {
		time.Sleep(time.Millisecond)
	}
}

// claimBody returns a claim that searches a place.
func claimBody() string {
	return fmt.Sprintf(`{"consumers":[{"uuid":"%s","project_id":"p","user_id":"u","consumer_type":"INSTANCE","consumer_generation":null}],
		"queries":[{"groups":{"":{"resources":{"VCPU":1}}}}]}`, uuid.New())
}

// TestLimits_SearchesWait_RowsByKeyPass fills the pool with searches of every kind.
func TestLimits_SearchesWait_RowsByKeyPass(t *testing.T) {
	t.Parallel()
	s := newSearchServer(t, searchpool.Options{Running: 1, Waiting: 10})
	end := s.hold(fairqueue.Short, 1)
	searches := [][3]string{
		{http.MethodGet, searchVCPU},
		{http.MethodGet, searchVCPU + "&explain=always"},
		{http.MethodPost, "/allocation_candidates", `{"groups":{"":{"resources":{"VCPU":1}}}}`},
		{http.MethodPost, "/capacity", `{"query":{"groups":{"":{"resources":{"VCPU":1}}}}}`},
		{http.MethodPost, "/claims", claimBody()},
	}
	answers := make(chan *httptest.ResponseRecorder, len(searches))
	for _, one := range searches {
		go func() { answers <- s.send(t.Context(), "searcher", one[0], one[1], one[2]) }()
	}
	s.awaitWaiting(len(searches))
	if used := s.Store.Pool().Stat().AcquiredConns(); used != 0 {
		t.Errorf("connections in use = %d, want 0", used)
	}
	allocation := `{"allocations":{"` + searchedHost + `":{"resources":{"VCPU":1}}},"project_id":"p","user_id":"u",
		"consumer_generation":null,"consumer_type":"INSTANCE"}`
	for _, one := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodGet, "/resource_providers/" + searchedHost, "", http.StatusOK},
		{http.MethodGet, "/resource_providers/" + searchedHost + "/allocations", "", http.StatusOK},
		{http.MethodPut, "/allocations/" + uuid.NewString(), allocation, http.StatusNoContent},
		{http.MethodPut, "/traits/CUSTOM_FAST", "", http.StatusCreated},
	} {
		if got := s.send(t.Context(), "searcher", one.method, one.path, one.body); got.Code != one.want {
			t.Errorf("%s %s: status = %d, want %d: %s", one.method, one.path, got.Code, one.want, got.Body)
		}
	}
	if ready := s.send(t.Context(), "", http.MethodGet, "/readyz", ""); ready.Code != http.StatusOK || !strings.Contains(ready.Body.String(), `"searches":"1 run, 5 wait, the oldest for `) {
		t.Errorf("/readyz: status = %d: %s", ready.Code, ready.Body)
	}
	measured := s.send(t.Context(), "", http.MethodGet, "/metrics", "").Body.String()
	for _, want := range []string{"berth_searches_running 1", "berth_searches_running_max 1", "berth_searches_queued 5", "berth_search_wait_seconds_count 1"} {
		if !strings.Contains(measured, "\n"+want+"\n") {
			t.Errorf("/metrics lacks %q", want)
		}
	}
	end()
	for range searches {
		if got := <-answers; got.Code != http.StatusOK {
			t.Errorf("status = %d after the wait, want 200: %s", got.Code, got.Body)
		}
	}
	if state := s.searches.State(); state != (fairqueue.State{}) {
		t.Errorf("state = %+v, want none", state)
	}
}

func TestLimits_SearchQueueFull_Returns503WithRetryAfter(t *testing.T) {
	t.Parallel()
	s := newSearchServer(t, searchpool.Options{Running: 1})
	defer s.hold(fairqueue.Short, 1)()
	for _, one := range [][3]string{
		{http.MethodGet, searchVCPU}, {http.MethodPost, "/capacity", `{"query":{"groups":{"":{"resources":{"VCPU":1}}}}}`},
		{http.MethodPost, "/claims", claimBody()},
	} {
		got := s.send(t.Context(), "searcher", one[0], one[1], one[2])
		if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "The server runs 1 searches, and 0 wait") {
			t.Errorf("%s %s: status = %d, headers %v: %s", one[0], one[1], got.Code, got.Header(), got.Body)
		}
	}
	measured := s.send(t.Context(), "", http.MethodGet, "/metrics", "").Body.String()
	if !strings.Contains(measured, `berth_http_requests_rejected_total{reason="search_queue_full"} 3`) {
		t.Error("the metrics lack the rejected searches")
	}
}

func TestLimits_ClientOfWaitingSearchGone_FreesItsPlace(t *testing.T) {
	t.Parallel()
	s := newSearchServer(t, searchpool.Options{Running: 1, Waiting: 1})
	end := s.hold(fairqueue.Short, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- s.send(ctx, "gone", http.MethodGet, searchVCPU, "").Code }()
	s.awaitWaiting(1)
	cancel()
	<-ended
	go func() { ended <- s.send(t.Context(), "other", http.MethodGet, searchVCPU, "").Code }()
	s.awaitWaiting(1)
	end()
	if got := <-ended; got != http.StatusOK {
		t.Errorf("status = %d, want 200", got)
	}
}

// TestLimits_SearchBecomesLong_RestartsWithEqualResponse: while a long search runs, another one that becomes long waits
// without a turn and without a connection, and then has the response of a server without bounds.
func TestLimits_SearchBecomesLong_RestartsWithEqualResponse(t *testing.T) {
	t.Parallel()
	path := "/allocation_candidates?limit=1000&group_policy=none"
	for n := range 5 {
		path += fmt.Sprintf("&resources%d=CUSTOM_PANEL:1", n+1)
	}
	for name, query := range map[string]string{"plain": path, "explained": path + "&explain=always"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSearchServer(t, searchpool.Options{Running: 2, Waiting: 10, MaxShort: 1})
			want := s.send(t.Context(), "searcher", http.MethodGet, path, "").Body.String()
			end := s.hold(fairqueue.Long, 1)
			got := make(chan *httptest.ResponseRecorder)
			go func() { got <- s.send(t.Context(), "searcher", http.MethodGet, query, "") }()
			s.awaitWaiting(1)
			if used := s.Store.Pool().Stat().AcquiredConns(); used != 0 {
				t.Errorf("connections in use = %d, want 0", used)
			}
			if short := s.send(t.Context(), "other", http.MethodGet, searchVCPU, ""); short.Code != http.StatusOK {
				t.Errorf("a short search: status = %d, want 200", short.Code)
			}
			end()
			answer := <-got
			body, _, _ := strings.Cut(answer.Body.String(), `,"explanation":`)
			if query == path && body != want || query != path && !strings.HasPrefix(want, body) || answer.Code != http.StatusOK {
				t.Errorf("status = %d, response differs from that without a pool: %.200s", answer.Code, body)
			}
			if state := s.searches.State(); state != (fairqueue.State{}) {
				t.Errorf("state = %+v, want none", state)
			}
		})
	}
}
