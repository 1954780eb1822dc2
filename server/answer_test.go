package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/wire/spool"
)

// thousands inserts enough providers that their list exceeds a megabyte.
const thousands = `
	WITH made AS (
		INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
		SELECT n, gen_random_uuid(), 'host ' || n, n FROM generate_series(1, 3000) AS n RETURNING id
	)
	INSERT INTO provider_generations (provider_id, generation) SELECT id, 0 FROM made`

func (s *service) exec(statement string) {
	s.t.Helper()
	if _, err := s.db.Pool.Exec(s.t.Context(), statement); err != nil {
		s.t.Fatal(err)
	}
}

func TestLimits_SpoolFull_Returns503BeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	room, err := spool.New(spool.Options{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) { options.Spool = room })
	s.exec(thousands)
	answer := s.ask(http.MethodGet, "/resource_providers", http.NoBody)
	s.wantError(answer, "/resource_providers", http.StatusServiceUnavailable, "The server cannot buffer this response")
	s.wantRetryAfter(answer)
	if modified := answer.Header().Get("Last-Modified"); modified != "" || answer.Header().Get("OpenStack-API-Version") == "" {
		t.Errorf("header = %v, want that of an error", answer.Header())
	}
	if !strings.Contains(s.log.String(), "cannot buffer the response (memory)") {
		t.Errorf("log = %s, want the reason", s.log)
	}
	if stat := room.Stat(); stat.Rejected[spool.MemoryFull] != 1 || stat.Memory != 0 {
		t.Errorf("%+v", stat)
	}
	// The spool never rejects small responses, and the connection is free again.
	for range 8 {
		if answer := s.ask(http.MethodGet, "/resource_providers?name=host%201", http.NoBody); answer.Code != http.StatusOK {
			t.Errorf("status %d: %s", answer.Code, answer.Body)
		}
	}
}

// TestReadiness_PoolExhausted_Returns503 has requests that wait for a lock on all connections, and others
// that wait for a connection.
func TestReadiness_PoolExhausted_Returns503(t *testing.T) {
	t.Parallel()
	const connections = 4
	s := newWatched(t, func(opening *postgres.Options, options *server.Options) {
		opening.MaxConns = connections
		options.Observability.Starved = time.Second
	})
	ready := func() (int, string, string) {
		answer := s.send(http.MethodGet, "/readyz")
		var told struct {
			Reason string            `json:"reason"`
			Checks map[string]string `json:"checks"`
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &told); err != nil {
			t.Fatalf("%v in %s", err, answer.Body)
		}
		return answer.Code, told.Reason, told.Checks["connections"]
	}
	until := func(what string, happens func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !happens(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not within a minute", what)
			}
		}
	}
	if status, reason, _ := ready(); status != http.StatusOK {
		t.Fatalf("at first: status %d, %s", status, reason)
	}
	locked, err := s.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Rollback(context.WithoutCancel(t.Context()))
	if _, err := locked.Exec(t.Context(), "LOCK TABLE resource_providers"); err != nil {
		t.Fatal(err)
	}
	codes := make(chan int)
	for range connections + 2 {
		go func() { codes <- s.ask(http.MethodGet, "/resource_providers", http.NoBody).Code }()
	}
	until("the server is not ready", func() bool {
		status, reason, checked := ready()
		return status == http.StatusServiceUnavailable && strings.Contains(reason, "no request has got a connection") && checked == "exhausted"
	})
	if told := s.send(http.MethodGet, "/metrics").Body.String(); strings.Contains(told, "berth_db_pool_oldest_wait_seconds 0\n") {
		t.Error("berth_db_pool_oldest_wait_seconds = 0")
	}
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range connections + 2 {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("status %d", code)
		}
	}
	until("the server is ready again", func() bool { status, _, _ := ready(); return status == http.StatusOK })
}
