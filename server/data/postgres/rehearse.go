package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/berthd/berth/server/wire/fault"
)

const (
	// maxRehearsalWait is how long a dry run waits for its turn and its connections.
	maxRehearsalWait = time.Second
	// rollBackTimeout limits the wait for a ROLLBACK, after which the connection is closed. PostgreSQL then rolls back as
	// well.
	rollBackTimeout = time.Second
	// connsOfRehearsal is the number of connections that a dry run uses.
	connsOfRehearsal = 2
)

// rehearsals limits the dry runs of a process.
type rehearsals struct {
	// turns is how many run at once.
	turns *semaphore.Weighted
	// pairing is held while a dry run acquires its two connections. Of all dry runs at most one has one connection and
	// waits for the other, so two of them cannot wait for each other.
	pairing *semaphore.Weighted
	// isPossible is false for a pool with one connection.
	isPossible bool
	started    atomic.Int64
}

func newRehearsals(pool int32) *rehearsals {
	return &rehearsals{
		turns: semaphore.NewWeighted(max(2, int64(pool)/4)), pairing: semaphore.NewWeighted(1),
		isPossible: pool >= connsOfRehearsal,
	}
}

// DryRuns returns the number of dry runs that got their connections.
func (p *Pool) DryRuns() int64 { return p.rehearsals.started.Load() }

// errRehearsalsBusy is the error of a dry run that got no turn, or not both connections, in time.
func errRehearsalsBusy() error {
	busy := fault.New(fault.Unavailable, "Too many dry runs at once. Try again later.").WithCode(fault.CodeDryRunBusy)
	busy.RetryAfter = time.Second
	return busy
}

// RehearsedConns is the two connections of a dry run. It is not safe for concurrent use.
type RehearsedConns struct {
	// write is the transaction of the write, until EndWrite.
	write  *Snapshot
	beside *Conn
	// ending is the ROLLBACK of the write, beside which the states are read or decoded.
	ending sync.WaitGroup
}

// Rehearse calls run, which executes a write in a transaction, and rolls the transaction back: in EndWrite or ReadBefore, and at
// the latest when run returns, also after an error or a panic, or when the request is canceled. Retries are those of Write; no outcome
// is unknown, so Rehearse also retries where Write cannot.
func (p *Pool) Rehearse(ctx context.Context, kind WriteKind, run func(*RehearsedConns) error) error {
	kind.RollsBack = true
	return p.retryWrite(ctx, kind, func() error {
		conns, done, err := p.acquirePair(ctx)
		if err != nil {
			return err
		}
		defer done()
		p.rehearsals.started.Add(1)
		return run(conns)
	})
}

// Batch returns the batch of the write. It begins the transaction, so it is sent once.
func (c *RehearsedConns) Batch() *Batch { return c.write.Batch() }

// EndWrite begins to roll the write back, and releases its connection when that is done. Further calls do nothing.
func (c *RehearsedConns) EndWrite(ctx context.Context) {
	if conn := c.write.conn; conn != nil {
		c.write.conn = nil
		c.ending.Go(func() { rollBack(ctx, conn) })
	}
}

// acquirePair acquires two connections for a dry run, within maxRehearsalWait. done ends their transactions and releases
// them. The dry run uses the write share for both, so that dry runs leave its reserve to reads.
func (p *Pool) acquirePair(ctx context.Context) (conns *RehearsedConns, done func(), err error) {
	if !p.rehearsals.isPossible {
		return nil, nil, errRehearsalsBusy()
	}
	bounded, cancel := context.WithTimeout(ctx, maxRehearsalWait)
	defer cancel()
	var held undo
	defer func() {
		if err == nil {
			return
		}
		held.run()
		if bounded.Err() != nil && ctx.Err() == nil {
			err = errRehearsalsBusy()
		}
	}()
	if err := held.acquire(bounded, p.rehearsals.turns, 1); err != nil {
		return nil, nil, err
	}
	if p.share.all != nil {
		if err := held.acquire(bounded, p.share.all, min(connsOfRehearsal, p.share.size)); err != nil {
			return nil, nil, err
		}
	}
	if err := p.rehearsals.pairing.Acquire(bounded, 1); err != nil {
		return nil, nil, err
	}
	defer p.rehearsals.pairing.Release(1)
	to, err := p.Acquire(bounded)
	if err != nil {
		return nil, nil, err
	}
	pair := &RehearsedConns{write: &Snapshot{conn: to, begin: beginReadCommitted}}
	held.add(func() {
		pair.EndWrite(ctx)
		pair.ending.Wait()
	})
	beside, err := p.Acquire(bounded)
	if err != nil {
		return nil, nil, err
	}
	pair.beside = beside
	held.add(func() { rollBack(ctx, beside) })
	return pair, held.run, nil
}

// undo is a stack of releases.
type undo []func()

func (u *undo) add(release func()) { *u = append(*u, release) }

// acquire acquires n of a semaphore, and adds its release.
func (u *undo) acquire(ctx context.Context, from *semaphore.Weighted, n int64) error {
	if err := from.Acquire(ctx, n); err != nil {
		return err
	}
	u.add(func() { from.Release(n) })
	return nil
}

// run calls the releases, the last one first.
func (u *undo) run() {
	for i := len(*u) - 1; i >= 0; i-- {
		(*u)[i]()
	}
}

// rollBack ends the transaction of a connection, if it has one, and releases it. A connection whose transaction did not
// end is closed by its release.
func rollBack(ctx context.Context, conn *Conn) {
	defer conn.Release()
	if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTimeout)
	defer cancel()
	_, _ = conn.Exec(bounded, "ROLLBACK")
}
