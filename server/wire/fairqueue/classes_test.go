package fairqueue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// enterAll starts requests, one after the other, and returns where their names arrive in the order of their slots.
func enterAll(ctx context.Context, q *Queue, class Class, clients ...string) <-chan string {
	order := make(chan string, len(clients))
	for _, client := range clients {
		go func() {
			if q.Enter(ctx, client, class) == nil {
				order <- client
			}
		}()
		synctest.Wait()
	}
	return order
}

func TestLimits_FairQueueOneClientWith100_SecondSlotIsOfOtherClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Running: 1, Waiting: 200})
		order := enterAll(t.Context(), q, Short, append(slices.Repeat([]string{"a"}, 101), "b")...)
		var got []string
		for range 4 {
			got = append(got, <-order)
			q.Leave("", Short, 0)
			synctest.Wait()
		}
		if want := []string{"a", "a", "b", "a"}; !slices.Equal(got, want) {
			t.Errorf("order = %v, want %v", got, want)
		}
		for q.State().Running > 0 {
			<-order
			q.Leave("", Short, 0)
			synctest.Wait()
		}
	})
}

func TestLimits_FairQueueLongRunning_LeavesSlotToShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Running: 3, Long: 2, Waiting: 10})
		ctx, cancel := context.WithCancel(t.Context())
		order := enterAll(ctx, q, Long, "a", "b", "c")
		if state := q.State(); state.Running != 2 || state.Long != 2 || state.Waiting != 1 {
			t.Errorf("state = %+v, want 2 running and 1 waiting", state)
		}
		if err := q.Enter(ctx, "c", Short); err != nil {
			t.Error(err)
		}
		if q.Lengthen("c") {
			t.Error("a third long request runs")
		}
		q.Leave("a", Long, 0)
		synctest.Wait()
		if got, want := []string{<-order, <-order}, []string{"a", "b"}; !slices.Equal(got, want) {
			t.Errorf("order = %v, want %v", got, want)
		}
		// The slot that the long request has left is free, but the short one of c still runs: it goes to the long one of c.
		if got := <-order; got != "c" {
			t.Errorf("next = %s, want c", got)
		}
		cancel()
		for _, class := range []Class{Long, Long, Short} {
			q.Leave("", class, 0)
		}
		if state := q.State(); state != (State{}) {
			t.Errorf("state = %+v, want none", state)
		}
	})
}

func TestLimits_FairQueueLengthen_OnlyIfNoLongRequestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Running: 2, Long: 1, Waiting: 10})
		_ = enterAll(t.Context(), q, Short, "a", "a")
		ctx, cancel := context.WithCancel(t.Context())
		_ = enterAll(ctx, q, Long, "b")
		if q.Lengthen("a") {
			t.Error("a short request overtook a long one that waits")
		}
		cancel()
		synctest.Wait()
		if !q.Lengthen("a") || q.Lengthen("a") {
			t.Error("want one long request")
		}
		q.Leave("a", Long, 0)
		q.Leave("a", Short, 0)
	})
}

func TestLimits_FairQueueRateExceeded_LongRequestsOfClientWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Running: 2, Long: 1, Waiting: 10, Rate: 100, Burst: 100})
		begun := time.Now()
		since := func() time.Duration { return time.Since(begun).Round(time.Millisecond) }
		for _, request := range []struct {
			want time.Duration
			work int64
		}{{0, 100}, {0, 400}, {4 * time.Second, 400}} {
			if err := q.Enter(t.Context(), "a", Long); err != nil {
				t.Fatal(err)
			}
			if got := since(); got != request.want {
				t.Errorf("the long request began after %s, want %s", got, request.want)
			}
			q.Leave("a", Long, request.work)
		}
		// Now a has 500 in excess, and waits for 4 s more. Its short requests and other clients do not.
		order := enterAll(t.Context(), q, Long, "a")
		for _, each := range []struct {
			client string
			class  Class
		}{{"a", Short}, {"b", Short}, {"b", Long}} {
			if err := q.Enter(t.Context(), each.client, each.class); err != nil {
				t.Fatal(err)
			}
			q.Leave(each.client, each.class, 0)
		}
		if got := since(); got != 4*time.Second {
			t.Errorf("others began after %s, want 4s", got)
		}
		if <-order; since() != 8*time.Second {
			t.Errorf("the long request began after %s, want 8s", since())
		}
		q.Leave("a", Long, 0)
	})
}

func TestLimits_FairQueueManyClients_ForgetsThoseWithinTheirRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Running: 1, Long: 1, Rate: 1, Burst: 1})
		for n := range 10 * minSweep {
			if err := q.Enter(t.Context(), string(rune('a'+n)), Short); err != nil {
				t.Fatal(err)
			}
			q.Leave(string(rune('a'+n)), Short, 1)
			time.Sleep(time.Second)
		}
		if got := len(q.work.all); got > minSweep {
			t.Errorf("clients = %d, want at most %d", got, minSweep)
		}
	})
}

func TestLimits_FairQueueWaitCanceled_FreesItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Running: 1, Waiting: 1})
		_ = enterAll(t.Context(), q, Short, "a")
		ctx, cancel := context.WithCancel(t.Context())
		_ = enterAll(ctx, q, Short, "a")
		if err := q.Enter(t.Context(), "a", Short); !errors.Is(err, ErrFull) {
			t.Errorf("error = %v, want %v", err, ErrFull)
		}
		cancel()
		synctest.Wait()
		order := enterAll(t.Context(), q, Short, "a")
		q.Leave("a", Short, 0)
		<-order
		q.Leave("a", Short, 0)
	})
}
