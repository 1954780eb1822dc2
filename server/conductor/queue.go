package conductor

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// queue is work that waits for a worker, each thing once. What is added while it is
// being worked on is worked on again afterwards, since whoever added it may have
// seen something that the worker had not.
type queue struct {
	mu      sync.Mutex
	ready   sync.Cond
	waiting []uuid.UUID
	items   map[uuid.UUID]*item
	closed  bool
}

// item is one thing that waits, is being worked on, or rests before another try.
type item struct {
	running bool
	again   bool
	// failures in a row; the pause before the next try doubles with each.
	failures int
}

// After a failure there is a pause, first short and then up to the longest.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

func newQueue() *queue {
	q := &queue{items: map[uuid.UUID]*item{}}
	q.ready.L = &q.mu
	return q
}

// add makes sure that a worker will look at this after now.
func (q *queue) add(id uuid.UUID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.put(id)
}

// put is add for who holds the lock.
func (q *queue) put(id uuid.UUID) {
	if q.closed {
		return
	}
	if known := q.items[id]; known != nil {
		// What waits or rests will be looked at anyway.
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

// work runs one thing after the other until the context ends. What fails is tried
// again after a pause.
func (q *queue) work(ctx context.Context, run func(context.Context, uuid.UUID) error) {
	stop := context.AfterFunc(ctx, q.close)
	defer stop()
	for {
		id, ok := q.take()
		if !ok || ctx.Err() != nil { // the end may be known here before it is to the queue
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
		// News that came meanwhile waits too: it may be what the failed try wrote.
		pause := min(longestPause, firstPause<<min(done.failures, 10))
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

// close ends the waiting of all workers and drops what nobody has begun: it is
// still in the database, for whoever comes next.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready.Broadcast()
}
