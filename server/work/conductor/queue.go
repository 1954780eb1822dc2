package conductor

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// queue is a set of pending UUIDs for workers. A UUID that is added while a worker processes it runs once more
// afterwards, because the caller of add may have seen a newer state.
type queue struct {
	mu      sync.Mutex
	ready   sync.Cond
	waiting []uuid.UUID
	items   map[uuid.UUID]*item
	closed  bool
}

// item is one UUID that waits, runs, or is delayed before a retry.
type item struct {
	running bool
	again   bool
	// failures is the number of failures in a row; the delay before the next retry doubles with each.
	failures int
}

// Limits of the delay before a retry.
const (
	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = 5 * time.Second
)

func newQueue() *queue {
	q := &queue{items: map[uuid.UUID]*item{}}
	q.ready.L = &q.mu
	return q
}

// add makes sure that a worker processes id after this call.
func (q *queue) add(id uuid.UUID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.put(id)
}

// put is add for callers that hold the lock.
func (q *queue) put(id uuid.UUID) {
	if q.closed {
		return
	}
	if known := q.items[id]; known != nil {
		// A waiting or delayed item runs later in any case.
		known.again = known.running
		return
	}
	q.items[id] = &item{}
	q.wait(id)
}

func (q *queue) wait(id uuid.UUID) {
	q.waiting = append(q.waiting, id)
	q.ready.Signal()
}

// work runs one item after the other until the context ends. It retries failed items after a delay.
func (q *queue) work(ctx context.Context, run func(context.Context, uuid.UUID) error) {
	stop := context.AfterFunc(ctx, q.close)
	defer stop()
	for {
		id, ok := q.take()
		if !ok || ctx.Err() != nil { // the context may have ended before close ran
			return
		}
		q.finish(id, run(ctx, id) != nil)
	}
}

func (q *queue) take() (uuid.UUID, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.closed {
		q.ready.Wait()
	}
	if q.closed {
		return uuid.Nil, false
	}
	id := q.waiting[0]
	q.waiting = q.waiting[1:]
	q.items[id].running = true
	return id, true
}

func (q *queue) finish(id uuid.UUID, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	done := q.items[id]
	again := done.again
	done.running, done.again = false, false
	switch {
	case q.closed:
	case failed:
		// An item that was added during the run is delayed too: the failed run itself may have caused the notification.
		pause := min(maxRetryDelay, minRetryDelay<<min(done.failures, 10))
		done.failures++
		time.AfterFunc(pause, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.wait(id)
		})
	case again:
		done.failures = 0
		q.wait(id)
	default:
		delete(q.items, id)
	}
}

// close wakes all workers and drops the items that have not started. The database still has them for the conductor that
// takes over.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready.Broadcast()
}
