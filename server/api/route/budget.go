package route

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// These are errors of Hold.Grow.
var (
	ErrBudgetQueue = errors.New("the queue is full")
	ErrBudgetWait  = errors.New("the wait took too long")
)

// Budget bounds the memory of all request bodies together: their bytes, and the memory of the decoded values. Requests
// acquire memory as their bodies arrive. Requests that exceed the budget wait in a queue.
//
// One hold at a time is exempt from the budget. It gets all the memory that it needs and does not count in the budget.
// Therefore holds that each have a part cannot deadlock, and a body above the whole budget does not block others. When
// it ends, the first waiting hold takes its place. The bound on memory is therefore the budget plus the cost of the
// largest body.
type Budget struct {
	bytes   int64 // 0: no bound
	queue   int
	timeout time.Duration

	mutex   sync.Mutex
	used    int64 // without the exempt hold
	beyond  *Hold // the exempt hold; nil: the next one that exceeds the budget becomes it
	waiting []*waiter

	rejected int
}

// waiter is a hold that waits for more bytes.
type waiter struct {
	hold    *Hold
	by      int64
	granted chan struct{}
}

// NewBudget returns a budget of the given number of bytes; 0: no bound. At most queue holds wait, each at most for the
// timeout.
func NewBudget(bytes, queue int64, timeout time.Duration) *Budget {
	return &Budget{bytes: bytes, queue: int(queue), timeout: timeout}
}

// Hold is the part of a budget that one request holds. It must be used by one goroutine. The zero value has no budget
// and grows without a bound.
type Hold struct {
	budget *Budget
	weight int64
}

// Hold returns an empty hold; b may be nil.
func (b *Budget) Hold() *Hold { return &Hold{budget: b} }

// Grow acquires more bytes and waits if they exceed the budget. It returns the error of the context, ErrBudgetQueue or
// ErrBudgetWait.
func (h *Hold) Grow(ctx context.Context, by int64) error {
	b := h.budget
	if b == nil || b.bytes == 0 {
		return nil
	}
	b.mutex.Lock()
	if b.grant(h, by) {
		b.mutex.Unlock()
		return nil
	}
	if len(b.waiting) >= b.queue {
		b.rejected++
		b.mutex.Unlock()
		return ErrBudgetQueue
	}
	w := &waiter{hold: h, by: by, granted: make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mutex.Unlock()

	timer := time.NewTimer(b.timeout)
	defer timer.Stop()
	var err error
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = ErrBudgetWait
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	at := slices.Index(b.waiting, w)
	if at < 0 {
		return nil // granted in the meantime
	}
	b.waiting = slices.Delete(b.waiting, at, at+1)
	if err == ErrBudgetWait {
		b.rejected++
	}
	return err
}

// grant grants the bytes if they fit, or if the hold is or can become the exempt one. The caller holds the mutex.
func (b *Budget) grant(h *Hold, by int64) bool {
	switch {
	case b.beyond == h:
	case b.used+by <= b.bytes:
		b.used += by
	case b.beyond == nil:
		b.beyond = h
		b.used -= h.weight
	default:
		return false
	}
	h.weight += by
	return true
}

// grantWaiting grants waiting holds in their order. None starves, because the first one becomes the exempt hold. The
// caller holds the mutex.
func (b *Budget) grantWaiting() {
	b.waiting = slices.DeleteFunc(b.waiting, func(w *waiter) bool {
		if !b.grant(w.hold, w.by) {
			return false
		}
		close(w.granted)
		return true
	})
}

// Collect runs the garbage collector if the hold is a large one. Otherwise the collector waits until the heap has
// doubled: a large body would use the memory of its text and of its decoded values, and two in sequence that of both.
func (h *Hold) Collect() {
	if b := h.budget; b != nil && b.bytes > 0 && h.weight >= b.bytes/2 {
		runtime.GC()
	}
}

// Release returns all bytes to the budget.
func (h *Hold) Release() {
	b := h.budget
	if b == nil || h.weight == 0 {
		return
	}
	h.Collect()
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.beyond == h {
		b.beyond = nil
	} else {
		b.used -= h.weight
	}
	h.weight = 0
	b.grantWaiting()
}

// Usage is the state of a budget.
type Usage struct {
	// Bytes is the number of held bytes, Limit the maximum.
	Bytes, Limit int64
	// Waiting is the number of waiting holds, Rejected the number of rejected ones since the start.
	Waiting, Rejected int
}

// Usage returns the state of the budget.
func (b *Budget) Usage() Usage {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	used := b.used
	if b.beyond != nil {
		used += b.beyond.weight
	}
	return Usage{Bytes: used, Limit: b.bytes, Waiting: len(b.waiting), Rejected: b.rejected}
}
