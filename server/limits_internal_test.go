package server

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/fault"
)

var alice, bob = auth.Caller{UserID: "alice"}, auth.Caller{UserID: "bob"}

// entering is a request that waits for its turn, or has been told.
type entering struct {
	leave func()
	err   error
}

func (l *limiter) begin(ctx context.Context, caller auth.Caller) <-chan entering {
	told := make(chan entering, 1)
	go func() {
		leave, err := l.enter(ctx, caller)
		told <- entering{leave, err}
	}()
	return told
}

func wantRefused(t *testing.T, err error, kind fault.Kind, text string) {
	t.Helper()
	refused := fault.As(err)
	if refused == nil || refused.Kind != kind || !strings.Contains(refused.Detail, text) ||
		refused.RetryAfter < time.Second || refused.RetryAfter > 3*time.Second {
		t.Errorf("got %+v (%v)", refused, err)
	}
}

// told is what the limiter counts, by its label or the last word of its name.
func told(t *testing.T, l *limiter) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(l)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			key := family.GetName()[strings.LastIndexByte(family.GetName(), '_')+1:]
			for _, label := range metric.Label {
				key = label.GetValue()
			}
			counted[key] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return counted
}

func TestAFullQueueIsRefusedAndAWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Requests: 1, Queue: 2, Wait: 5 * time.Second})
		running, err := l.enter(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		first := l.begin(t.Context(), alice)
		synctest.Wait()
		second := l.begin(t.Context(), bob)
		synctest.Wait()
		_, err = l.enter(t.Context(), alice)
		wantRefused(t, err, fault.Unavailable, "2 wait; it takes no more")
		if waiting := l.waiting.Load(); waiting != 2 {
			t.Errorf("%d wait", waiting)
		}

		running()
		next := <-first // first come, first served
		if next.err != nil {
			t.Fatal(next.err)
		}
		wantRefused(t, (<-second).err, fault.Unavailable, "none ended within 5s")
		next.leave()
		last, err := l.enter(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		last()

		want := map[string]float64{"caller": 0, "queue_full": 1, "waited_too_long": 1, "waiting": 0, "limit": 1}
		if got := told(t, l); !maps.Equal(got, want) {
			t.Errorf("counted %v, want %v", got, want)
		}
	})
}

func TestACallerHasItsShareAndOthersTheirs(t *testing.T) {
	t.Parallel()
	l := newLimiter(Limits{PerCaller: 2})
	var leave [2]func()
	for i := range leave {
		var err error
		if leave[i], err = l.enter(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.enter(t.Context(), alice)
	wantRefused(t, err, fault.TooMany, "2 requests running or waiting")
	// Bob may have his, and who is nobody in particular any number.
	for _, other := range []auth.Caller{bob, bob, {}, {}, {}} {
		done, err := l.enter(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
	}
	leave[0]()
	again, err := l.enter(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	again()
	leave[1]()
}

// A caller whose request is refused or ends while it waits has its share back.
func TestWhoeverLeavesTheQueueIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Requests: 1, Queue: 1, Wait: time.Hour, PerCaller: 1})
		running, err := l.enter(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		waiting := l.begin(ctx, alice)
		synctest.Wait()
		_, err = l.enter(t.Context(), alice) // one that waits counts
		wantRefused(t, err, fault.TooMany, "running or waiting")
		_, err = l.enter(t.Context(), auth.Caller{UserID: "carol"})
		wantRefused(t, err, fault.Unavailable, "it takes no more")
		hangUp()
		if told := <-waiting; !errors.Is(told.err, context.Canceled) {
			t.Errorf("got %v", told.err)
		}
		running()
		if done, err := l.enter(t.Context(), alice); err != nil {
			t.Error(err)
		} else {
			done()
		}
		if len(l.callers) != 0 || l.waiting.Load() != 0 {
			t.Errorf("left behind: %v, %d waiting", l.callers, l.waiting.Load())
		}
	})
}
