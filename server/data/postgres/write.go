package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/server/wire/fault"
)

// SQLSTATEs of PostgreSQL itself that cause retries or identify rules.
const (
	DeadlockDetected     = "40P01"
	SerializationFailure = "40001"
	UniqueViolation      = "23505"
	ForeignKeyViolation  = "23503"
)

// maxWriteAttempts limits the executions of a write that the database itself canceled.
const maxWriteAttempts = 4

// WriteKind is the error handling of the writes of an API.
type WriteKind struct {
	// RetryStates are the SQLSTATEs after which the write is retried.
	RetryStates []string
	// RetryConstraints are the unique constraints after whose violation the write is retried.
	RetryConstraints []string
	// Contended is the error of a write if the last attempt failed with such an error as well; nil: that of PostgreSQL.
	Contended *fault.Error
	// LockTimeout is the error of a write that waited too long for a lock; nil: that of PostgreSQL.
	LockTimeout *fault.Error
	// Background is set for writes that may use no more than half of the connections for writes.
	Background bool
	// Side is the pool of the connection for the write; nil: that of requests, through the write share.
	Side *SidePool
	// RollsBack is set for writes that are always rolled back: they change nothing, whatever happens to the connection.
	RollsBack bool
}

// isRetryable reports whether the write is retried after this error of the database.
func (k *WriteKind) isRetryable(reported *pgconn.PgError) bool {
	if reported.Code == UniqueViolation && slices.Contains(k.RetryConstraints, reported.ConstraintName) {
		return true
	}
	return slices.Contains(k.RetryStates, reported.Code)
}

// Write runs a write on the primary and retries it after the errors of kind. It returns any other error of PostgreSQL
// unchanged, as a *pgconn.PgError.
//
// It also retries a write that the database cannot have executed because it did not receive it, during retryWindow. It
// does not retry a write of unknown outcome: only the client can determine whether to repeat it.
func (p *Pool) Write(ctx context.Context, kind WriteKind, run func(*Primary) error) error {
	attempt := func() error { return p.turn(ctx, kind, run) }
	if kind.Background {
		return p.share.decide(ctx, func() error { return p.retryWrite(ctx, kind, attempt) })
	}
	return p.retryWrite(ctx, kind, attempt)
}

// retryWrite calls run until it succeeds or its error is none after which kind retries.
func (p *Pool) retryWrite(ctx context.Context, kind WriteKind, run func() error) error {
	since := time.Now()
	for attempt, conflicts := 1, 0; ; attempt++ {
		err := run()
		if err == nil {
			return nil
		}
		if LockTimedOut(err) {
			p.lockTimeouts.Add(1)
			return lockTimeout(kind.LockTimeout, err)
		}
		if found := classifyConnError(err); found != notConnError {
			if kind.RollsBack && found == outcomeUnknown {
				found = notExecuted
			}
			if again, words := p.afterConnError(ctx, found, err, since, attempt); !again {
				return words
			}
			continue
		}
		var reported *pgconn.PgError
		if !errors.As(err, &reported) {
			return err
		}
		if !kind.isRetryable(reported) {
			return reported
		}
		if conflicts++; conflicts == maxWriteAttempts && kind.Contended != nil {
			return kind.Contended
		} else if conflicts == maxWriteAttempts {
			return reported
		}
		p.retries.Add(1)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(rand.Int64N(int64(conflicts) * int64(10*time.Millisecond)))):
		}
	}
}

// turn runs a write on a side pool, or when the write share permits it.
func (p *Pool) turn(ctx context.Context, kind WriteKind, run func(*Primary) error) error {
	if kind.Side == nil {
		return p.share.run(ctx, func() error { return run(p.primary()) })
	}
	pool, _, err := kind.Side.get()
	if err != nil {
		return err
	}
	return run(&Primary{Pool: pool, pooled: p.pooled})
}

// afterConnError reports whether to retry a write after a connection error, or returns the error for the client.
func (p *Pool) afterConnError(
	ctx context.Context, found connErrorClass, err error, since time.Time, attempt int,
) (again bool, words error) {
	if ctx.Err() == nil {
		resetPoolAfter(p.pool, found, err)
	}
	switch {
	case found == outcomeUnknown:
		return false, outcomeUnknownError(err)
	case ctx.Err() != nil:
		return false, err
	case found == notExecuted && backoff(ctx, since, attempt):
		return true, nil
	}
	return false, unavailable(msgNothingChanged, err)
}
