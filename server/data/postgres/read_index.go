package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/berthd/berth/gen/db"
)

// readIndex queries the primary for the position that a replica must have replayed. The name is that of the same
// mechanism in Raft. A read requests the log position after it has arrived, then waits until its server has replayed
// that position. So it sees every write that was acknowledged before it arrived, by any client and through any server.
//
// Reads that arrive while a query runs share the next query. So the primary executes at most one small statement per
// round trip, for any number of reads.
type readIndex struct {
	of *Pool

	mutex  sync.Mutex
	asking bool
	next   *positionRequest
}

// positionRequest is a request for the position that several reads share; done is closed when the result is set.
type positionRequest struct {
	done   chan struct{}
	answer db.PrimaryWALPositionRow
	err    error
}

// positionTimeout limits the query for the position of the primary.
const positionTimeout = time.Second

// now returns a position that was queried after the call.
func (r *readIndex) now(ctx context.Context) (db.PrimaryWALPositionRow, error) {
	r.mutex.Lock()
	if r.next == nil {
		r.next = &positionRequest{done: make(chan struct{})}
	}
	mine := r.next
	if !r.asking {
		r.asking = true
		go r.ask()
	}
	r.mutex.Unlock()
	select {
	case <-mine.done:
		return mine.answer, mine.err
	case <-ctx.Done():
		return db.PrimaryWALPositionRow{}, ctx.Err()
	}
}

// ask runs position queries until no read waits. A read that arrives after a query began waits for the next one: its
// position must not be older than the read.
func (r *readIndex) ask() {
	for {
		r.mutex.Lock()
		taken := r.next
		r.next = nil
		if taken == nil {
			r.asking = false
			r.mutex.Unlock()
			return
		}
		r.mutex.Unlock()
		ctx, done := context.WithTimeout(context.Background(), positionTimeout)
		taken.answer, taken.err = r.position(ctx)
		done()
		close(taken.done)
	}
}

// position queries the position, and records the primary's timeline if it is unknown: a replica that lacks the record
// may be on a WAL branch that a failover has abandoned.
func (r *readIndex) position(ctx context.Context) (db.PrimaryWALPositionRow, error) {
	found, err := r.of.queries.PrimaryWALPosition(ctx, r.of.primary())
	if err == nil && !found.Noticed {
		err = r.of.queries.TimelineRecord(ctx, r.of.primary(), found.Timeline)
	}
	return found, err
}
