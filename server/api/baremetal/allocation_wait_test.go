package baremetal_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/baremetal"
)

func TestNodeAllocation_Wait_RespondsWhenDecided(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node := s.free("rack-7", "gold")
	s.works()
	start := time.Now()
	made := s.createExtended(map[string]any{"resource_class": "gold", "wait": 60}).wants(http.StatusCreated)
	made.is(made.plain(map[string]any{"state": "active", "node_uuid": node.UUID, "updated_at": made.body["updated_at"]}))
	s.createExtended(map[string]any{"resource_class": "gold", "wait": 60}).wants(http.StatusCreated).shows(map[string]any{"state": "error"})
	// Polling alone takes longer than a notification.
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("duration = %s, want less than 4s", took)
	}
}

func TestNodeAllocation_ManyWaiters_ShareOneConnection(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for range 8 {
		s.free("node-"+uuid.NewString(), "gold")
	}
	s.works()
	states := make(chan string, 20)
	if got := raced(20, func(int) int {
		made := s.createExtended(map[string]any{"resource_class": "gold", "wait": 60})
		states <- made.body["state"].(string)
		return made.status
	}); !maps.Equal(got, map[int]int{201: 20}) {
		t.Errorf("%v", got)
	}
	counts := map[string]int{}
	for range 20 {
		counts[<-states]++
	}
	if !maps.Equal(counts, map[string]int{"active": 8, "error": 12}) {
		t.Errorf("%v", counts)
	}
}

func TestNodeAllocation_WaitTimeout_RespondsUndecided(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.free("rack-7", "gold")
	start := time.Now()
	made := s.createExtended(map[string]any{"resource_class": "gold", "wait": 0.3, "name": "a"}).wants(http.StatusCreated)
	made.is(made.plain(map[string]any{"name": "a"}))
	if took := time.Since(start); took < 300*time.Millisecond {
		t.Errorf("duration = %s, too short", took)
	}
	s.createExtended(map[string]any{"resource_class": "gold", "wait": 0}).wants(http.StatusCreated).shows(map[string]any{"state": "allocating"})
	for wait, want := range map[string]string{"-1": "-1 is less than the minimum of 0", "601": "601 is greater than the maximum of 600",
		`"1"`: "'1' is not of type 'number'", "null": "None is not of type 'number'"} {
		s.createExtended(`{"resource_class": "gold", "wait": ` + wait + `}`).invalid("JSON does not validate: " + want)
	}
}

func TestNodeAllocation_WaitDeleted_Responds(t *testing.T) {
	t.Parallel()
	s := newService(t)
	answered := make(chan *response)
	go func() {
		answered <- s.createExtended(map[string]any{"resource_class": "gold", "wait": 60, "name": "a"})
	}()
	for s.get("/v1/allocations/a", "1.82").status != http.StatusOK {
		time.Sleep(5 * time.Millisecond)
	}
	s.send(http.MethodDelete, "/v1/allocations/a", "1.82", nil).wants(http.StatusNoContent)
	(<-answered).wants(http.StatusCreated).shows(map[string]any{"name": "a", "state": "allocating"})
}

func TestNodeAllocation_WaitDuringShutdown_RespondsUndecided(t *testing.T) {
	t.Parallel()
	s := newService(t)
	stopping := make(chan struct{})
	s.handler = servertest.Handlers(s.store, func(options *server.Options) {
		options.Baremetal = &baremetal.Options{Conductor: "me", HeartbeatTimeout: time.Minute, Stopping: stopping}
	}).Public
	answered := make(chan *response)
	go func() {
		answered <- s.createExtended(map[string]any{"resource_class": "gold", "wait": 600, "count": 2, "name": "a"})
	}()
	for s.get("/v1/allocations/a-2", "1.82").status != http.StatusOK {
		time.Sleep(5 * time.Millisecond)
	}
	close(stopping)
	(<-answered).wants(http.StatusCreated)
}

func TestNodeAllocation_WaitBeyondDeadline_RespondsBefore(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ctx, done := context.WithTimeout(t.Context(), 3*time.Second)
	defer done()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/allocations", strings.NewReader(`{"resource_class": "gold", "wait": 600}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("OpenStack-API-Version", extendedVersion)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Code != http.StatusCreated || ctx.Err() != nil {
		t.Errorf("status %d, %s (%v)", w.Code, w.Body, ctx.Err())
	}
}
