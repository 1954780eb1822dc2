package store

import (
	"context"
	"sync"
	"time"

	"github.com/berthd/berth/gen/db"
)

// readIndex asks the primary how far a replica must be. The name is that of the same
// idea in Raft: a read that asks for the position of the log after it has come, and
// then waits until its server is there, sees every write that was answered before it
// came, whoever wrote and through whichever server.
//
// Reads that come while the primary is being asked share the next question. So it
// gets one small statement a round trip at most, however many reads there are.
type readIndex struct {
	store *Store

	mutex  sync.Mutex
	asking bool
	next   *question
}

// question is one that some reads share; done is closed when it is answered.
type question struct {
	done   chan struct{}
	answer db.ReplicaPositionRow
	err    error
}

// indexPatience is how long the primary may take to say where it is.
const indexPatience = time.Second

// now is a position that was asked for after the call.
func (r *readIndex) now(ctx context.Context) (db.ReplicaPositionRow, error) {
	r.mutex.Lock()
	if r.next == nil {
		r.next = &question{done: make(chan struct{})}
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
		return db.ReplicaPositionRow{}, ctx.Err()
	}
}

// ask answers questions until there is none. Whoever comes after one was taken waits
// for the next: its position must not be older than the read.
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
		ctx, done := context.WithTimeout(context.Background(), indexPatience)
		taken.answer, taken.err = r.position(ctx)
		done()
		close(taken.done)
	}
}

// position asks, and makes the primary's timeline known where it is not: a replica
// without it may be on a branch of the WAL that a failover has cut off.
func (r *readIndex) position(ctx context.Context) (db.ReplicaPositionRow, error) {
	found, err := r.store.queries.ReplicaPosition(ctx, r.store.pool)
	if err == nil && !found.Noticed {
		err = r.store.queries.TimelineNotice(ctx, r.store.pool, found.Timeline)
	}
	return found, err
}
