package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// poolWaits measures how long requests wait for a connection to the primary. It excludes the connections of probes,
// conductors and replicas.
type poolWaits struct {
	pool atomic.Pointer[pgxpool.Pool]

	mutex sync.Mutex
	// first and last are the ends of the list of waits, in the order in which they began.
	first, last *poolWait
	// got is when a wait last ended with a connection.
	got time.Time
	// gaveUp is the beginning of the earliest wait that has ended without a connection since got; zero: none has.
	gaveUp time.Time
}

// poolWait is the context of one acquisition, and its element of the list.
type poolWait struct {
	context.Context
	since          time.Time
	before, behind *poolWait
}

type poolWaitKey struct{}

// Value returns the wait itself for its key.
func (w *poolWait) Value(key any) any {
	if key == (poolWaitKey{}) {
		return w
	}
	return w.Context.Value(key)
}

// TraceAcquireStart implements pgxpool.AcquireTracer.
func (t *tracer) TraceAcquireStart(ctx context.Context, pool *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	if pool != t.waits.pool.Load() {
		return ctx
	}
	return t.waits.begin(ctx, time.Now())
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (t *tracer) TraceAcquireEnd(ctx context.Context, pool *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	if wait, ok := ctx.Value(poolWaitKey{}).(*poolWait); ok && pool == t.waits.pool.Load() {
		t.waits.end(wait, data.Err, time.Now())
	}
}

func (p *poolWaits) begin(ctx context.Context, now time.Time) *poolWait {
	wait := &poolWait{Context: ctx, since: now}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.last == nil {
		p.first = wait
	} else {
		p.last.behind, wait.before = wait, p.last
	}
	p.last = wait
	return wait
}

func (p *poolWaits) end(wait *poolWait, err error, now time.Time) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if wait.before == nil {
		p.first = wait.behind
	} else {
		wait.before.behind = wait.behind
	}
	if wait.behind == nil {
		p.last = wait.before
	} else {
		wait.behind.before = wait.before
	}
	timedOut := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	switch {
	case err == nil:
		p.got, p.gaveUp = now, time.Time{}
	case timedOut && (p.gaveUp.IsZero() || wait.since.Before(p.gaveUp)):
		p.gaveUp = wait.since
	}
}

// oldest returns how long the oldest current wait has lasted; 0: nothing waits.
func (p *poolWaits) oldest(now time.Time) time.Duration {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.first == nil {
		return 0
	}
	return now.Sub(p.first.since)
}

// starved returns for how long requests have waited for a connection and none has acquired one. After the last of them
// has been canceled, the time continues while the pool is exhausted: without requests nothing else would show that
// connections are free again.
func (p *poolWaits) starved(now time.Time, exhausted func() bool) time.Duration {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	since := p.gaveUp
	if p.first == nil && (since.IsZero() || !exhausted()) {
		return 0
	}
	if p.first != nil && (since.IsZero() || p.first.since.Before(since)) {
		since = p.first.since
	}
	if since.Before(p.got) {
		since = p.got
	}
	return now.Sub(since)
}

// OldestWait returns how long the oldest request that waits for a connection has waited; 0: none waits.
func (p *Pool) OldestWait() time.Duration { return p.tracer.waits.oldest(time.Now()) }

// Starved returns for how long requests have waited for a connection to the database and none has acquired one; 0: none
// waits, or the last one acquired one.
func (p *Pool) Starved() time.Duration {
	return p.tracer.waits.starved(time.Now(), func() bool {
		stat := p.pool.Stat()
		return stat.AcquiredConns() >= stat.MaxConns()
	})
}
