package conductor

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
)

func TestConductor_Queue_OneWorkerPerKeyAndRerun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, ctx, stop := workingQueue(t)
		var mu sync.Mutex
		runs, at, most := map[uuid.UUID]int{}, map[uuid.UUID]int{}, 0
		var working sync.WaitGroup
		worker := func() {
			q.work(ctx, func(_ context.Context, id uuid.UUID) error {
				mu.Lock()
				runs[id]++
				at[id]++
				most = max(most, at[id])
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				at[id]--
				mu.Unlock()
				return nil
			})
		}
		for range 3 {
			working.Go(worker)
		}
		one, other := uuid.New(), uuid.New()
		for range 5 {
			q.add(one)
		}
		q.add(other)
		synctest.Wait()
		for range 5 {
			q.add(one) // it runs: once more, not five times
		}
		time.Sleep(10 * time.Second)
		stop()
		working.Wait()
		if runs[one] != 2 || runs[other] != 1 || most != 1 {
			t.Errorf("runs = %d and %d, at most %d at once; want 2, 1 and 1", runs[one], runs[other], most)
		}
	})
}

func TestConductor_QueueFailure_RetriedWithBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, ctx, stop := workingQueue(t)
		var tries []time.Duration
		began := time.Now()
		var working sync.WaitGroup
		working.Go(func() {
			q.work(ctx, func(context.Context, uuid.UUID) error {
				tries = append(tries, time.Since(began))
				if len(tries) < 9 {
					return errors.New("not yet")
				}
				return nil
			})
		})
		q.add(uuid.New())
		time.Sleep(time.Minute)
		stop()
		working.Wait()
		want := []int{0, 100, 300, 700, 1500, 3100, 6300, 11300, 16300}
		for i := range tries {
			if len(tries) != len(want) || tries[i] != time.Duration(want[i])*time.Millisecond {
				t.Fatalf("attempts at %v, want these milliseconds: %v", tries, want)
			}
		}
	})
}

func TestConductor_QueueStopped_StartsNothingNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, ctx, stop := workingQueue(t)
		runs := 0
		var working sync.WaitGroup
		working.Go(func() {
			q.work(ctx, func(ctx context.Context, _ uuid.UUID) error {
				runs++
				<-ctx.Done()
				return ctx.Err()
			})
		})
		q.add(uuid.New())
		q.add(uuid.New())
		synctest.Wait()
		stop()
		working.Wait()
		q.add(uuid.New())
		time.Sleep(time.Minute)
		if runs != 1 {
			t.Errorf("started items = %d, want the first only", runs)
		}
	})
}

func workingQueue(t *testing.T) (*queue, context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(t.Context())
	return newQueue(), ctx, stop
}
