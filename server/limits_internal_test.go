package server

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fairqueue"
	"github.com/berthd/berth/server/wire/fault"
)

var alice, bob = auth.Caller{UserID: "alice"}, auth.Caller{UserID: "bob"}

// entering is a request that waits for a slot, or the result of its wait.
type entering struct {
	leave func()
	err   error
}

func (l *limiter) begin(ctx context.Context, caller auth.Caller) <-chan entering {
	told := make(chan entering, 1)
	go func() {
		leave, err := l.admitRequest(ctx, caller, l.running)
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

// told returns the metrics of the limiter, by label or by the last word of the name.
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

func TestLimits_QueueFullOrWaitExceeded_Rejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Requests: 1, Queue: 2, Wait: 5 * time.Second}, nil)
		running, err := l.admitRequest(t.Context(), alice, l.running)
		if err != nil {
			t.Fatal(err)
		}
		first := l.begin(t.Context(), alice)
		synctest.Wait()
		second := l.begin(t.Context(), bob)
		synctest.Wait()
		_, err = l.admitRequest(t.Context(), alice, l.running)
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
		last, err := l.admitRequest(t.Context(), bob, l.running)
		if err != nil {
			t.Fatal(err)
		}
		last()

		want := map[string]float64{"caller_limit": 0, "queue_full": 1, "queue_timeout": 1, "search_queue_full": 0, "queued": 0, "max": 1}
		if got := told(t, l); !maps.Equal(got, want) {
			t.Errorf("metrics = %v, want %v", got, want)
		}
	})
}

func TestLimits_PerCaller_IndependentOfOthers(t *testing.T) {
	t.Parallel()
	l := newLimiter(Limits{PerCaller: 2}, nil)
	var leave [2]func()
	for i := range leave {
		var err error
		if leave[i], err = l.admitRequest(t.Context(), alice, l.running); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.admitRequest(t.Context(), alice, l.running)
	wantRefused(t, err, fault.TooMany, "2 requests running or waiting")
	// Bob has his own limit, and unauthenticated requests have none.
	for _, other := range []auth.Caller{bob, bob, {}, {}, {}} {
		done, err := l.admitRequest(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
	}
	leave[0]()
	again, err := l.admitRequest(t.Context(), alice, l.running)
	if err != nil {
		t.Fatal(err)
	}
	again()
	leave[1]()
}

// A rejected request, or one that ends while it waits, releases its share of the caller's limit.
func TestLimits_QueuedRequestEnds_FreesSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(Limits{Requests: 1, Queue: 1, Wait: time.Hour, PerCaller: 1}, nil)
		running, err := l.admitRequest(t.Context(), bob, l.running)
		if err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		waiting := l.begin(ctx, alice)
		synctest.Wait()
		_, err = l.admitRequest(t.Context(), alice, l.running) // a waiting request counts
		wantRefused(t, err, fault.TooMany, "running or waiting")
		_, err = l.admitRequest(t.Context(), auth.Caller{UserID: "carol"}, l.running)
		wantRefused(t, err, fault.Unavailable, "it takes no more")
		hangUp()
		if told := <-waiting; !errors.Is(told.err, context.Canceled) {
			t.Errorf("got %v", told.err)
		}
		running()
		if done, err := l.admitRequest(t.Context(), alice, l.running); err != nil {
			t.Error(err)
		} else {
			done()
		}
		if len(l.callers) != 0 || l.waiting.Load() != 0 {
			t.Errorf("afterwards: callers = %v, waiting = %d", l.callers, l.waiting.Load())
		}
	})
}

// TestLimits_SmallBodyNotSent_CostsLittle announces a body and sends one byte of it.
func TestLimits_SmallBodyNotSent_CostsLittle(t *testing.T) {
	cost := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{"))
			r.ContentLength = maxPrebufferedBody
			prebufferBody(r, maxPrebufferedBody)
		}
	}).AllocedBytesPerOp()
	if cost > maxPrebufferedBody/2 {
		t.Errorf("one byte of a body of %d bytes uses %d bytes of memory", maxPrebufferedBody, cost)
	}
}

func TestLimits_QueuedSearches_LeaveHalfOfTheSlots(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limits Limits
		want   int
	}{
		{Limits{Requests: 1000, Searches: 2, QueuedSearches: 500}, 499},
		{Limits{Requests: 1000, Searches: 2, QueuedSearches: 10}, 10},
		{Limits{Searches: 2, QueuedSearches: 500}, 500},
		{Limits{Requests: 2, Searches: 4, QueuedSearches: 500}, 1},
		{Limits{Requests: 2, Searches: 4}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			pool := test.limits.newSearches(0)
			for range test.limits.Searches + test.want + 3 {
				go func() {
					_, _ = searchpool.Run(t.Context(), pool, fairqueue.Short, func(ctx context.Context, _ *searchpool.Turn) (int, error) {
						<-ctx.Done()
						return 0, nil
					})
				}()
			}
			synctest.Wait()
			if got := pool.State(); got.Running != test.limits.Searches || got.Waiting != test.want {
				t.Errorf("%+v: state = %+v, want %d waiting", test.limits, got, test.want)
			}
		})
	}
}
