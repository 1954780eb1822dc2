package agent_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/client"
)

func TestAgent_Startup_ReshapesThenSendsNothing(t *testing.T) {
	t.Parallel()
	h, w := newHost(t), new(faultyTransport)
	var passes []agent.Reconciliation
	tracker := h.tracker(w, agent.Options{Observe: func(pass agent.Reconciliation) { passes = append(passes, pass) }})
	h.must(tracker.Update(t.Context(), true))
	h.wantNewShape()
	if w.sent("POST /reshaper") != 1 || h.driver.calls != 2 || h.driver.reshapes != 1 {
		t.Errorf("%d reshapes were sent; the driver was asked %d times and moved %d times", w.sent("POST /reshaper"), h.driver.calls, h.driver.reshapes)
	}
	w.forget()
	h.must(tracker.Update(t.Context(), false))
	if w.sent("") != 0 {
		t.Errorf("an unchanged host sent %q", w.seen)
	}
	for at, want := range []agent.Reconciliation{{Startup: true, Attempts: 1, Reshaped: true, Providers: 3}, {Attempts: 1, Providers: 3}} {
		got := passes[at]
		if got.Startup != want.Startup || got.Attempts != want.Attempts || got.Conflicts != 0 || got.Reshaped != want.Reshaped || got.Providers != want.Providers || got.Err != nil {
			t.Errorf("pass %d was %+v, want %+v", at, got, want)
		}
	}
}

// onBothServices runs a test with a service without berth 1.3 and with Berth.
func onBothServices(t *testing.T, test func(t *testing.T, extended bool)) {
	t.Helper()
	for name, extended := range map[string]bool{"OpenStack Placement": false, "Berth": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, extended)
		})
	}
}

// TestAgent_UnchangedHost_ConfirmedInOneRequest counts the requests of passes over data that is too old.
func TestAgent_UnchangedHost_ConfirmedInOneRequest(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, extended bool) {
		h, w := newHost(t), &faultyTransport{extended: extended}
		tracker := agent.NewTracker(newClient(t, h.url, client.WithTransport(w), client.WithRefresh(time.Nanosecond),
			client.WithMemberRefresh(time.Hour)), h.driver, h.node, agent.Options{})
		h.must(tracker.Update(t.Context(), true))
		h.wantNewShape()
		if extended && w.sent("PUT /resource_providers/"+h.node.UUID.String()+"/tree") != 1 {
			t.Errorf("the reshape sent %q", w.seen)
		}
		want := 10 // the list, and three reads of each provider
		if extended {
			want = 1
		}
		for range 2 {
			w.forget()
			h.must(tracker.Update(t.Context(), false))
			if w.sent("") != want {
				t.Errorf("an unchanged host sent %d requests, want %d: %q", w.sent(""), want, w.seen)
			}
		}
	})
}

func TestAgent_PeriodicReconciliation_NeverReshapes(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, extended bool) {
		h, w := newHost(t), &faultyTransport{extended: extended}
		tracker := h.tracker(w, agent.Options{})
		for range 2 {
			if err := tracker.Update(t.Context(), false); !errors.Is(err, client.ErrReshapeNeeded) {
				t.Fatalf("got %v", err)
			}
		}
		if w.sent("POST") != 0 || w.sent("PUT") != 0 || h.driver.calls != 2 {
			t.Errorf("sent %q, asked %d times", w.seen, h.driver.calls)
		}
		h.wantOldShape()
	})
}

func TestAgent_ClaimBeforeReshape_Preserved(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, extended bool) {
		h, w := newHost(t), &faultyTransport{extended: extended}
		reshape, came := "POST /reshaper", false
		if extended {
			reshape = "PUT /resource_providers/" + h.node.UUID.String() + "/tree"
		}
		w.before = func(request *http.Request) error {
			if request.Method+" "+request.URL.Path != reshape || came {
				return nil
			}
			came = true
			return h.tryClaim(late, map[uuid.UUID]client.Resources{h.node.UUID: {"VCPU": 1, vgpu: 1}})
		}
		var pass agent.Reconciliation
		h.must(h.tracker(w, agent.Options{Observe: func(p agent.Reconciliation) { pass = p }}).Update(t.Context(), true))
		h.wantNewShape()
		h.wantHeld(late, "cn1 VCPU 1", "cn1_gpu1 VGPU 1")
		if w.sent(reshape) != 2 || pass.Attempts != 2 || pass.Conflicts != 1 || h.driver.reshapes != 2 {
			t.Errorf("%d reshapes were sent in %+v, the driver moved %d times", w.sent(reshape), pass, h.driver.reshapes)
		}
	})
}

func TestAgent_ReshapeConflictAfterRetries_Fatal(t *testing.T) {
	t.Parallel()
	h, w := newHost(t), new(faultyTransport)
	var pauses []int
	w.before = func(request *http.Request) error {
		if request.URL.Path != "/reshaper" {
			return nil
		}
		return h.disturb(h.node.UUID)
	}
	tracker := h.tracker(w, agent.Options{Pause: func(attempt int) time.Duration { pauses = append(pauses, attempt); return 0 }})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := tracker.Run(ctx, time.Hour)
	if !errors.Is(err, client.ErrReshapeConflict) || !tracker.Fatal(err) {
		t.Errorf("got %v", err)
	}
	if w.sent("POST /reshaper") != 4 || !slices.Equal(pauses, []int{1, 2, 3}) {
		t.Errorf("%d reshapes were sent, with pauses after %v", w.sent("POST /reshaper"), pauses)
	}
	h.wantOldShape()
}

func TestAgent_WriteConflict_RetriedAndNotFatal(t *testing.T) {
	t.Parallel()
	h, w := newHost(t), new(faultyTransport)
	var pass agent.Reconciliation
	tracker := h.tracker(w, agent.Options{Observe: func(p agent.Reconciliation) { pass = p }})
	h.must(tracker.Update(t.Context(), true))
	gpu, disturbances := h.providers()["cn1_gpu0"], 2
	w.before = func(request *http.Request) error {
		if request.Method != http.MethodPut || disturbances == 0 {
			return nil
		}
		disturbances--
		return h.disturb(gpu)
	}
	h.driver.gpus["gpu0"] = 6
	h.must(tracker.Update(t.Context(), false))
	if pass.Attempts != 3 || pass.Conflicts != 2 || pass.Reshaped {
		t.Errorf("the pass was %+v", pass)
	}
	h.wantTotals(map[string]map[string]int32{"cn1": {"VCPU": 16}, "cn1_gpu0": {vgpu: 6}, "cn1_gpu1": {vgpu: 4}})
	if traits, _, err := h.setup.ProviderTraitList(t.Context(), gpu); err != nil || len(traits) != 3 {
		t.Errorf("traits = %q, %v, want the traits of the other client too", traits, err)
	}

	disturbances, h.driver.gpus["gpu0"] = 100, 8
	if err := tracker.Update(t.Context(), true); !errors.Is(err, client.ErrUpdateConflict) || tracker.Fatal(err) || pass.Conflicts != 4 {
		t.Errorf("after %+v: %v", pass, err)
	}
}

func TestAgent_DriverErrors_ClassifiedAsFatalOrRetryable(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for name, test := range map[string]struct {
		driver simulated
		fatal  bool
		text   string
	}{
		"a GPU of unknown consumers":   {simulated{gpus: h.driver.gpus}, true, "unknown GPU of consumer aaaaaaaa-0000-4000-8000-000000000001"},
		"a driver that asks twice":     {simulated{gpus: h.driver.gpus, asksAgain: true}, true, "bug in the driver"},
		"a hypervisor that is away":    {simulated{fail: errors.New("no answer")}, false, "the driver of cn1: no answer"},
		"a reshape that it can't make": {simulated{fail: client.ErrReshapeFailed}, true, "the reshape failed"},
	} {
		t.Run(name, func(t *testing.T) {
			tracker := agent.NewTracker(newClient(t, h.url), &test.driver, h.node, agent.Options{})
			err := tracker.Update(t.Context(), true)
			if err == nil || tracker.Fatal(err) != test.fatal || !strings.Contains(err.Error(), test.text) {
				t.Errorf("fatal %v: %v", !test.fatal, err)
			}
		})
	}
	h.wantOldShape()
}

// TestAgent_StartupKilledAtAnyRequest_NextStartCompletes cuts the wire for good after
// so many requests, before or after the server has done the last one.
func TestAgent_StartupKilledAtAnyRequest_NextStartCompletes(t *testing.T) {
	t.Parallel()
	onBothServices(t, func(t *testing.T, extended bool) {
		url := serve(t)
		for _, answered := range []bool{false, true} {
			for survivors, finished := 0, false; !finished; survivors++ {
				h, w := newHostOn(t, url), &faultyTransport{extended: extended}
				alive := survivors
				cut := func(*http.Request) error {
					if alive == 0 {
						return errCut
					}
					alive--
					return nil
				}
				dead := false
				w.before = func(request *http.Request) error {
					if dead || !answered {
						return cut(request)
					}
					return nil
				}
				w.after = func(request *http.Request) error {
					if !answered {
						return nil
					}
					err := cut(request)
					dead = err != nil
					return err
				}
				finished = h.tracker(w, agent.Options{}).Update(t.Context(), true) == nil
				h.wantNothingLost()
				h.must(h.tracker(&faultyTransport{extended: extended}, agent.Options{}).Update(t.Context(), true))
				h.wantNewShape()
				if t.Failed() {
					t.Fatalf("killed after %d requests, the last one done: %v", survivors, answered)
				}
				h.remove()
				if survivors > 60 {
					t.Fatal("the start does not end")
				}
			}
		}
	})
}

func TestAgent_NodeNameMismatch_Rejected(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.node.Name = "cn1.example.org"
	tracker := h.tracker(new(faultyTransport), agent.Options{})
	if err := tracker.Update(t.Context(), true); err == nil || tracker.Fatal(err) || !strings.Contains(err.Error(), `as "cn1", not as "cn1.example.org"`) {
		t.Errorf("got %v", err)
	}
	h.node.UUID, h.node.Name = uuid.New(), "cn1"
	tracker = h.tracker(new(faultyTransport), agent.Options{})
	if err := tracker.Update(t.Context(), true); !errors.Is(err, client.ErrDuplicateName) {
		t.Errorf("got %v", err)
	}
	if _, err := tracker.Preview(t.Context()); !errors.Is(err, client.ErrDuplicateName) {
		t.Errorf("got %v", err)
	}
}

func TestAgent_Preview_WritesNothing(t *testing.T) {
	t.Parallel()
	h, w := newHost(t), new(faultyTransport)
	preview, err := h.tracker(w, agent.Options{}).Preview(t.Context())
	h.must(err)
	if !preview.Reshape || preview.Before.Exists("cn1_gpu0") || !preview.After.Exists("cn1_gpu0") {
		t.Errorf("got %+v", preview)
	}
	if preview.Had[graphics].Allocations[h.node.UUID][vgpu] != 1 || preview.Have[graphics].Allocations[h.node.UUID][vgpu] != 0 {
		t.Errorf("%v became %v", preview.Had[graphics], preview.Have[graphics])
	}
	h.node = agent.Node{Name: "cn3", UUID: uuid.New()}
	preview, err = h.tracker(w, agent.Options{}).Preview(t.Context())
	h.must(err)
	if preview.Reshape || preview.Before.Exists("cn3") || !preview.After.Exists("cn3_gpu1") {
		t.Errorf("got %+v", preview)
	}
	if w.sent("GET") != w.sent("") {
		t.Errorf("sent %q", w.seen)
	}
}

func TestAgent_ServiceUnreachable_RunRetriesUntilStopped(t *testing.T) {
	t.Parallel()
	h, w := newHost(t), new(faultyTransport)
	away := true
	w.before = func(*http.Request) error {
		if away {
			return errCut
		}
		return nil
	}
	passes := make(chan agent.Reconciliation)
	tracker := h.tracker(w, agent.Options{Observe: func(pass agent.Reconciliation) { passes <- pass }})
	ended := make(chan error)
	go func() { ended <- tracker.Run(t.Context(), time.Hour) }()
	if first := <-passes; !first.Startup || first.Err == nil || tracker.Fatal(first.Err) {
		t.Errorf("the first pass was %+v", first)
	}
	away = false
	tracker.Trigger()
	// The start has not got through yet, so the second pass may reshape.
	if second := <-passes; !second.Startup || !second.Reshaped || second.Err != nil {
		t.Errorf("the second pass was %+v", second)
	}
	tracker.Trigger()
	if third := <-passes; third.Startup || third.Err != nil {
		t.Errorf("the third pass was %+v", third)
	}
	if wait := time.Until(tracker.Progress()); wait > 66*time.Minute {
		t.Errorf("the next pass is due in %s", wait)
	}
	tracker.Stop()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	h.wantNewShape()
}

func TestAgent_ContextCanceled_RunReturns(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	passes := 0
	tracker := h.tracker(new(faultyTransport), agent.Options{Observe: func(agent.Reconciliation) {
		if passes++; passes == 3 {
			cancel()
		}
	}})
	if err := tracker.Run(ctx, time.Millisecond); !errors.Is(err, context.Canceled) || passes != 3 {
		t.Errorf("ended after %d passes with %v", passes, err)
	}
}
