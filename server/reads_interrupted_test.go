package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/servertest"
)

// interruptedReads are reads of berth 1.4, with the host that interrupted creates.
var interruptedReads = []string{
	"/resource_providers?include=inventories,usages,traits,aggregates", "/resource_providers?include=inventories&limit=500&total=true",
	"/resource_providers/%s/tree?include=inventories,usages,consumers", "/consumers?include=allocations", "/capacity?group_by=tree&limit=1000",
	"/capacity?resource_class=VCPU",
}

// interrupted is a server with providers whose lists exceed the buffers of sockets.
type interrupted struct {
	*explaining
	host string
}

func setupInterrupted(t *testing.T) *interrupted {
	t.Helper()
	made := &interrupted{explaining: &explaining{t: t, Server: servertest.New(t, servertest.Options{StandardNames: true})}}
	made.host = made.provider("host-0", object{"VCPU": object{"total": 16}})
	if _, err := made.DB.Pool.Exec(t.Context(), `
		WITH made AS (
			INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
			SELECT n, gen_random_uuid(), 'host ' || n, n FROM generate_series(100001, 103000) AS n RETURNING id
		), generations AS (
			INSERT INTO provider_generations (provider_id, generation) SELECT id, 0 FROM made
		)
		INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
		SELECT made.id, class.id, made.id, 100, 0, 1, 100, 1, 1, 0 FROM made CROSS JOIN resource_classes AS class WHERE class.name = 'VCPU'`); err != nil {
		t.Fatal(err)
	}
	return made
}

// target returns the target of a read.
func (s *interrupted) target(of string) string {
	if strings.Contains(of, "%s") {
		return fmt.Sprintf(of, s.host)
	}
	return of
}

// waitUntil waits for a condition, with a timeout for a busy machine.
func (s *interrupted) waitUntil(description string, condition func() bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("timeout while waiting until %s", description)
		}
	}
}

// isIdle reports whether no request uses a connection.
func (s *interrupted) isIdle() bool {
	var running int
	if err := s.DB.Pool.QueryRow(s.t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle' AND backend_type = 'client backend'`).Scan(&running); err != nil {
		s.t.Fatal(err)
	}
	return running == 0
}

// TestLimits_ClientsDisconnectInReads_ServerReleasesConnections ends connections in the middle of responses.
func TestLimits_ClientsDisconnectInReads_ServerReleasesConnections(t *testing.T) {
	t.Parallel()
	s := setupInterrupted(t)
	server := s.Listen(t)
	address := strings.TrimPrefix(server.URL, "http://")
	var group sync.WaitGroup
	for n := range 60 {
		group.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "GET "+s.target(interruptedReads[n%len(interruptedReads)])+" HTTP/1.1\r\nHost: localhost\r\n"+
				"X-Auth-Token: admin\r\nX-Roles: admin,service\r\nOpenStack-API-Version: "+withCapacity+"\r\n\r\n"); err != nil {
				t.Error(err)
				return
			}
			status, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || !strings.Contains(status, " 200 ") {
				t.Errorf("%s: status line %q, %v", interruptedReads[n%len(interruptedReads)], status, err)
			}
		})
	}
	group.Wait()
	s.waitUntil("no request runs", s.isIdle)
	for _, read := range interruptedReads {
		w := s.send(http.MethodGet, s.target(read), withCapacity, nil)
		if s.must(w); !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d bytes are not JSON", read, w.Body.Len())
		}
	}
}

// TestLimits_ClientsCancelReads_StatementsEnd cancels requests whose statements wait for a lock.
func TestLimits_ClientsCancelReads_StatementsEnd(t *testing.T) {
	t.Parallel()
	s := setupInterrupted(t)
	block, err := s.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer block.Rollback(context.Background()) //nolint:errcheck // it is over by then, unless the test fails
	if _, err := block.Exec(t.Context(), "LOCK TABLE inventories, consumers"); err != nil {
		t.Fatal(err)
	}
	for _, read := range interruptedReads {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, s.target(read), nil)
		for name, value := range map[string]string{"X-Auth-Token": "admin", "X-Roles": "admin,service", "OpenStack-API-Version": withCapacity} {
			r.Header.Set(name, value)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Handler.ServeHTTP(httptest.NewRecorder(), r)
		}()
		s.waitForBlocked(1)
		cancel()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the request has not ended", read)
		}
		s.waitUntil("the statement of "+read+" ends", func() bool {
			var blocked int
			err := s.DB.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&blocked)
			return err == nil && blocked == 0
		})
	}
}

// TestLimits_DifferentCapacitiesAtOnce_MemoryIsBounded sends 1,000 different requests at once. Few of their answers are kept.
// It does not run beside other tests, because it measures the heap.
func TestLimits_DifferentCapacitiesAtOnce_MemoryIsBounded(t *testing.T) {
	s := setupInterrupted(t)
	const count = 1000
	send := func(n int) *httptest.ResponseRecorder {
		return s.send(http.MethodGet, fmt.Sprintf("/capacity?group_by=tree&limit=100&unit=VCPU:%d", n+1), withCapacity, nil)
	}
	s.must(send(0))
	heap := func() int64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := heap()
	var length atomic.Int64
	var group sync.WaitGroup
	for n := range count {
		group.Go(func() {
			w := send(n)
			length.Add(int64(w.Body.Len()))
			found := decode[struct {
				Capacity []struct{ Unit int }
			}](t, w)
			if w.Code != http.StatusOK || len(found.Capacity) != 100 || found.Capacity[0].Unit != n+1 {
				t.Errorf("unit %d: status = %d, %d rows", n+1, w.Code, len(found.Capacity))
			}
		})
	}
	group.Wait()
	s.waitUntil("no request runs", s.isIdle)
	grown := heap() - before
	t.Logf("the heap has grown by %d kB; all answers have %d kB", grown>>10, length.Load()>>10)
	if grown > length.Load()/2 {
		t.Errorf("the heap has grown by %d kB, want at most half of all answers, %d kB", grown>>10, length.Load()>>10)
	}
}

// TestConnLoss_PostgresEndsSessionsDuringReads_Returns503AndRecovers ends all sessions again and again.
func TestConnLoss_PostgresEndsSessionsDuringReads_Returns503AndRecovers(t *testing.T) {
	t.Parallel()
	s := setupInterrupted(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var group sync.WaitGroup
	var mutex sync.Mutex
	statuses := map[int]int{}
	for n := range 12 {
		group.Go(func() {
			for turn := 0; ctx.Err() == nil; turn++ {
				read := s.target(interruptedReads[(n+turn)%len(interruptedReads)])
				if strings.HasPrefix(read, "/capacity") {
					read += fmt.Sprintf("&unit=VCPU:%d", 1+n*10_000+turn) // no other request has this key
				}
				began := time.Now()
				w := s.send(http.MethodGet, read, withCapacity, nil)
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("%s took %v", read, took)
				}
				isRight := w.Code == http.StatusOK && json.Valid(w.Body.Bytes()) || w.Code == http.StatusServiceUnavailable && json.Valid(w.Body.Bytes())
				if !isRight {
					t.Errorf("%s: status = %d, want 200 or 503: %.300s", read, w.Code, w.Body)
				}
				mutex.Lock()
				statuses[w.Code]++
				mutex.Unlock()
			}
		})
	}
	ended := 0
	for ctx.Err() == nil {
		var now int
		if err := s.DB.Pool.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&now); err != nil {
			t.Fatal(err)
		}
		ended += now
		time.Sleep(20 * time.Millisecond)
	}
	group.Wait()
	if ended == 0 || statuses[http.StatusOK] == 0 {
		t.Errorf("ended sessions = %d, statuses = %v", ended, statuses)
	}
	t.Logf("ended sessions = %d, statuses = %v", ended, statuses)
	for _, read := range interruptedReads {
		s.must(s.send(http.MethodGet, s.target(read), withCapacity, nil))
	}
}
