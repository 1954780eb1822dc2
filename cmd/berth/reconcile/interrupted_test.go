package reconcile_test

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/servertest"
)

// interruptAfter makes the server of a cloud deny all deletions after so many; -1: none. It counts them.
func interruptAfter(c *cloud, count int64) *atomic.Int64 {
	deletions := &atomic.Int64{}
	inner := c.server.Handler
	c.url = servertest.Listen(c.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && deletions.Add(1) > count && count >= 0 {
			w.Header().Set("Retry-After", "3600") // the client does not retry
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		inner.ServeHTTP(w, r)
	})).URL
	return deletions
}

func TestReconcile_Interrupted_GoesOnWithPlan(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	for i := range 4 {
		c.claim(id(101+i), "INSTANCE", map[uuid.UUID]client.Resources{id(1): {"VCPU": 1}})
	}
	file, plan := c.file("known.txt", id(11).String()+"\n"+id(12).String()+"\n"), c.path("plan.json")
	whole := c.url
	interruptAfter(c, 2)
	got := c.reconcile("--with", "file:"+file, "--repair", "--save-plan", plan)
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "ended after 2 of 4 changes; 'berth reconcile --plan "+plan+"' goes on") {
		t.Fatalf("%+v", got)
	}
	c.url = whole
	deletions := interruptAfter(c, -1)
	got = c.run("reconcile", "--plan", plan, "--output", "csv")
	if got.code != frame.ExitOK || strings.Count(got.stdout, ",unneeded\n") != 2 || strings.Count(got.stdout, ",repaired\n") != 2 || deletions.Load() != 2 {
		t.Errorf("%+v, %d deletions", got, deletions.Load())
	}
	c.expect([]string{}, "--with", "file:"+file)
	// The plan that undoes the whole was written once, before the first change.
	if got := c.run("reconcile", "--plan", c.path("plan.undo.json")); got.code != frame.ExitOK {
		t.Errorf("undo: %+v", got)
	}
	if len(c.findings("--with", "file:"+file)) != 4 {
		t.Error("the undo did not restore four consumers")
	}
}

func TestReconcile_SignalDuringRepair_EndsAfterChange(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	for i := range 4 {
		c.claim(id(101+i), "INSTANCE", map[uuid.UUID]client.Resources{id(1): {"VCPU": 1}})
	}
	signals := make(chan os.Signal, 1)
	inner := c.server.Handler
	c.url = servertest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && len(signals) == 0 {
			signals <- os.Interrupt
		}
		inner.ServeHTTP(w, r)
	})).URL
	c.signals = signals
	file := c.file("known.txt", id(11).String()+"\n"+id(12).String()+"\n")
	got := c.reconcile("--with", "file:"+file, "--repair", "--save-plan", c.path("plan.json"))
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "interrupted after ") || c.allocations(id(101)) != "{}" {
		t.Errorf("%+v", got)
	}
	c.signals = nil
	if got := c.run("reconcile", "--plan", c.path("plan.json")); got.code != frame.ExitOK || c.allocations(id(104)) != "{}" {
		t.Errorf("%+v", got)
	}
}

// TestReconcile_ChangedBetweenReadings_IsNoFinding deletes and creates while the command waits between its two readings.
func TestReconcile_ChangedBetweenReadings_IsNoFinding(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	for _, number := range []int{13, 14} {
		c.claim(id(number), "INSTANCE", map[uuid.UUID]client.Resources{id(1): {"VCPU": 1}})
	}
	file := c.file("known.txt", id(11).String()+"\n"+id(12).String()+"\n")
	readings := &atomic.Int64{}
	inner := c.server.Handler
	c.url = servertest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/consumers" && readings.Add(1) == 2 {
			if _, err := c.client.AllocationPatch(r.Context(), id(13), client.AllocationChanges{
				Allocations: map[uuid.UUID]map[string]*int64{id(1): {"VCPU": new(int64(2))}},
			}); err != nil {
				t.Error(err)
			}
		}
		inner.ServeHTTP(w, r)
	})).URL
	c.expect([]string{"orphan 14 compute-1"}, "--with", "file:"+file)
}

func TestReconcile_ServiceWithoutExtensions_IsNamed(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	inner := c.server.Handler
	c.url = servertest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, _, _ := strings.Cut(r.Header.Get("OpenStack-API-Version"), ",")
		r.Header.Set("OpenStack-API-Version", version)
		inner.ServeHTTP(w, r)
	})).URL
	got := c.reconcile("--with", "file:"+c.file("known.txt", id(11).String()+"\n"))
	if want := (ran{frame.ExitFailed, "", "berth: the service at " + c.url + " has no berth 1.4, which berth reconcile needs\n"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestReconcile_Documents_HaveTheSameMembers(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	file := c.file("known.txt", id(11).String()+"\n"+id(12).String()+"\n")
	for format, want := range map[string]string{
		"json": `"findings": []`, "yaml": "findings: []", "csv": "FINDING,CONSUMER,HOST,RESOURCES,REASON,REPAIR\n",
	} {
		if got := c.reconcile("--with", "file:"+file, "--output", format); got.code != frame.ExitOK || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v, want %q", format, got, want)
		}
	}
	orphan := c.file("orphan.txt", id(11).String()+"\n")
	want := "orphan," + id(12).String() + ",compute-2,VCPU=2 MEMORY_MB=2048 DISK_GB=20,the source does not have it,delete its allocations\n"
	if got := c.reconcile("--with", "file:"+orphan, "--output", "csv"); got.code != 3 || !strings.HasSuffix(got.stdout, want) {
		t.Errorf("csv: %+v, want %q", got, want)
	}
	if got := c.reconcile("--with", "file:"+orphan, "--output", "yaml"); !strings.Contains(got.stdout, "VCPU: 2") || !strings.Contains(got.stdout, "generation: 1") {
		t.Errorf("yaml: %+v", got)
	}
}
