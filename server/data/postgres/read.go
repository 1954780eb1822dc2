package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/semaphore"

	"github.com/berthd/berth/gen/db"
)

// ErrFinal marks, for errors.Is, an error that is a result: it holds on the primary too, so OnReplicaOrPrimary does not
// repeat the read there.
var ErrFinal = errors.New("the error is a result")

// QueryPrimary runs a query on the primary, and retries it after a connection error: reads are idempotent.
func QueryPrimary[R any](ctx context.Context, p *Pool, query func(db.DBTX) (R, error)) (R, error) {
	return retryRead(ctx, p, func() (R, error) { return query(p.primary()) })
}

// OnPrimary runs a read of more than one statement on a connection to the primary, and retries it after a connection
// error. run releases the connection in any case: at once, or after the last row of a stream.
func OnPrimary[R any](ctx context.Context, p *Pool, run func(*Conn) (R, error)) (R, error) {
	return retryRead(ctx, p, func() (R, error) {
		conn, err := p.Acquire(ctx)
		if err != nil {
			var none R
			return none, err
		}
		return releasingAfterPanic(conn, run)
	})
}

// releasingAfterPanic calls run with a connection, which run releases, and releases it if run panics: the server goes on
// after a panic in a request.
func releasingAfterPanic[R any](conn *Conn, run func(*Conn) (R, error)) (R, error) {
	returned := false
	defer func() {
		if !returned {
			conn.Release() // closes it, unless it is idle outside of a transaction
		}
	}()
	result, err := run(conn)
	returned = true
	return result, err
}

// OnReplicaOrPrimary is OnPrimary, but uses a replica that has replayed every write acknowledged before the call, if
// there is one. It repeats on the primary what the replica rejects or cancels, unless the error is an ErrFinal.
func OnReplicaOrPrimary[R any](ctx context.Context, p *Pool, run func(*Conn) (R, error)) (R, error) {
	if p.replicas != nil {
		if replica, conn := p.replicas.acquire(ctx, p.queries); conn != nil {
			done, err := releasingAfterPanic(conn, run)
			if err == nil || errors.Is(err, ErrFinal) || ctx.Err() != nil {
				p.replicas.served.Add(1)
				return done, err
			}
			p.replicas.failed.Add(1)
			if classifyConnError(err) != notConnError {
				replica.suspend(false, minDownPause, maxDownPause)
				resetPoolAfter(replica.pool, classifyConnError(err), err)
			}
		}
	}
	return OnPrimary(ctx, p, run)
}

// QueryReplicaOrPrimary is OnReplicaOrPrimary for a single query.
func QueryReplicaOrPrimary[R any](ctx context.Context, p *Pool, query func(db.DBTX) (R, error)) (R, error) {
	if p.replicas == nil {
		return QueryPrimary(ctx, p, query)
	}
	return OnReplicaOrPrimary(ctx, p, func(conn *Conn) (R, error) {
		defer conn.Release()
		return query(conn)
	})
}

// releasing calls run, and releases one of a semaphore afterwards, also after a panic.
func releasing[R any](weighted *semaphore.Weighted, run func() (R, error)) (R, error) {
	defer weighted.Release(1)
	return run()
}

// retryRead runs a read, and retries it after a connection error. run acquires its connection from the pool and must
// not call retryRead: the two could wait for each other.
func retryRead[R any](ctx context.Context, p *Pool, run func() (R, error)) (R, error) {
	since := time.Now()
	for attempt := 1; ; attempt++ {
		if err := p.reads.Acquire(ctx, 1); err != nil {
			var none R
			return none, err
		}
		done, err := releasing(p.reads, run)
		found := classifyConnError(err)
		if found == notConnError || ctx.Err() != nil {
			return done, err
		}
		resetPoolAfter(p.pool, found, err)
		if found == notExecutedNoRetry || !backoff(ctx, since, attempt) {
			return done, unavailable(msgReadFailed, err)
		}
	}
}

// StreamError returns the error of a read that fails after its first row, when a retry is no longer possible. The error
// still has its own status.
func StreamError(ctx context.Context, err error) error {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	conflict := ok && (reported.Code == SerializationFailure || reported.Code == DeadlockDetected) // on a replica
	if ctx.Err() == nil && (conflict || classifyConnError(err) != notConnError) {
		return unavailable(msgReadFailed, err)
	}
	return err
}
