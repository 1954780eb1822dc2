package postgres

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// writeShare limits how many connections of the pool serve writes at once, so that writes that wait for a lock leave
// connections for reads. Writes run in the order of arrival. The zero value has no limit.
type writeShare struct {
	// all is nil without a limit. background is the part of it for decisions about node allocations, of which
	// conductors make many at once.
	all, background *semaphore.Weighted
	size            int64
	// lockTimeout is the time that a write needs at least after it has acquired its slot.
	lockTimeout time.Duration

	waiting          atomic.Int64
	waited, rejected atomic.Int64
}

// newWriteShare returns a share that leaves reserved connections of a pool to reads, and at least one to writes.
func newWriteShare(pool, reserved int32, lockTimeout time.Duration) *writeShare {
	if reserved <= 0 {
		return &writeShare{}
	}
	size := int64(max(1, pool-reserved))
	return &writeShare{
		all: semaphore.NewWeighted(size), background: semaphore.NewWeighted(max(1, size/2)),
		size: size, lockTimeout: lockTimeout,
	}
}

// WriteStat is the statistics of the share of the pool that serves writes.
type WriteStat struct {
	// Max is how many writes run at once; 0: as many as there are connections.
	Max int64
	// Waiting is how many writes wait for a slot.
	Waiting int64
	// Waited counts the writes that had to wait, Rejected those whose wait was too long.
	Waited, Rejected int64
}

// WriteStat returns the statistics of the share of the pool that serves writes.
func (p *Pool) WriteStat() WriteStat {
	w := p.share
	return WriteStat{Max: w.size, Waiting: w.waiting.Load(), Waited: w.waited.Load(), Rejected: w.rejected.Load()}
}

var errNoTurn = errors.New("all connections for writes were in use for too long")

// run runs a write when a slot is free.
func (w *writeShare) run(ctx context.Context, write func() error) error {
	if w.all == nil {
		return write()
	}
	if err := w.acquire(ctx, w.all); err != nil {
		return err
	}
	defer w.all.Release(1)
	return write()
}

// decide runs the decision about a node allocation, which is a write, in one of the slots for background writes: at
// most half of all.
func (w *writeShare) decide(ctx context.Context, write func() error) error {
	if w.background == nil {
		return write()
	}
	if err := w.background.Acquire(ctx, 1); err != nil {
		return err
	}
	defer w.background.Release(1)
	return write()
}

// acquire waits for a slot. It returns errNoTurn while enough time is left to wait for a lock: canceling a statement at
// the deadline of its request has an unknown outcome.
func (w *writeShare) acquire(ctx context.Context, turns *semaphore.Weighted) error {
	if turns.TryAcquire(1) {
		return nil
	}
	w.waited.Add(1)
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	bounded, done := context.WithCancel(ctx)
	if end, ok := ctx.Deadline(); ok {
		bounded, done = context.WithTimeout(ctx, w.bound(time.Until(end)))
	}
	defer done()
	err := turns.Acquire(bounded, 1)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	w.rejected.Add(1)
	return unavailable(wordsNoTurn, errNoTurn)
}

// bound returns how much of a request's remaining time it may wait for its slot: what the wait for a lock leaves, and
// at least a quarter.
func (w *writeShare) bound(remaining time.Duration) time.Duration {
	return max(remaining-w.lockTimeout-w.lockTimeout/10, remaining/4)
}
