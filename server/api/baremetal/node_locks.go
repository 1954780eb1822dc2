package baremetal

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// minAttempts is the minimum number of attempts of move, even without a lock timeout.
const minAttempts = 10

// move applies the transition that decide returns for the current node. If another request changed the node in the
// meantime, the guards of the transition fail and move calls decide again. While decide returns *reserved, move waits
// for the conductor to release the node, at most for the lock timeout. It holds no database connection while it waits.
func (o *operations) move(ctx context.Context, sent string, decide func(store.Node) (store.Transition, error)) error {
	wait := o.lockWait(ctx)
	for attempt := 1; ; attempt++ {
		node, err := o.node(ctx, sent)
		if err != nil {
			return err
		}
		step, err := decide(node)
		if held := (*reserved)(nil); errors.As(err, &held) {
			if wait.pause(ctx) {
				continue
			}
			return locked(held.node, held.host)
		}
		if err != nil {
			return nodeFaults(sent).Translate(err)
		}
		_, moved, err := o.store.NodeTransition(ctx, node.UUID.String(), step)
		if moved || err != nil {
			return nodeFaults(sent).Translate(err)
		}
		if attempt >= minAttempts && !wait.pause(ctx) {
			return nodeContended(sent)
		}
	}
}

// reserved is the error of a request that the node's state permits, but that must wait because a conductor has reserved
// the node.
type reserved struct{ node, host string }

// Error implements error.
func (r *reserved) Error() string { return locked(r.node, r.host).Error() }

// locked returns the fault of a request for a reserved node. Clients retry such requests.
func locked(node, host string) *fault.Error {
	return fault.New(fault.Conflict, "Node %s is locked by host %s, please retry after the current operation is completed.", node, host)
}

// lockWait is the remaining time that a request waits for a node, and its next delay.
type lockWait struct {
	until    time.Time
	next     time.Duration
	stopping <-chan struct{}
}

// The delays between two reads of a reserved node double from the first to the longest. With the default timeout of 3
// seconds a request reads at most about ten times.
const (
	firstLockPause   = 10 * time.Millisecond
	longestLockPause = 500 * time.Millisecond
)

// lockWait starts the wait of a request. It ends at the lock timeout or at the deadline of the request, whichever is
// earlier.
func (o *operations) lockWait(ctx context.Context) *lockWait {
	until := time.Now().Add(o.lockTimeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	return &lockWait{until: until, next: firstLockPause, stopping: o.stopping}
}

// pause waits for the next delay and returns true. It returns false if no time is left, the request is canceled or the
// process stops.
func (w *lockWait) pause(ctx context.Context) bool {
	left := time.Until(w.until)
	if left <= 0 {
		return false
	}
	over := time.NewTimer(min(left, w.next/2+rand.N(w.next)))
	defer over.Stop()
	w.next = min(2*w.next, longestLockPause)
	select {
	case <-over.C:
		return true
	case <-ctx.Done():
	case <-w.stopping:
	}
	return false
}
