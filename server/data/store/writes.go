package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/wire/fault"
)

// WordsLocked is the text for a client whose write waited longer than lock_timeout.
const WordsLocked = "Another transaction has locked the same rows for longer than this server waits. " +
	"Nothing was changed. Retry the request."

var contended = fault.New(fault.Conflict, "Concurrent updates of the same providers or consumers conflicted with this request in every "+
	"attempt. Nothing was changed; retry the request.").WithCode(fault.CodeConcurrentUpdate)

// retryableStates are the SQLSTATEs after which a write is retried. Of two writes in a deadlock PostgreSQL cancels one.
// A write violates a foreign key only if a name that it has looked up was deleted meanwhile; functions raise a
// serialization failure for the same reason. The retry then finds that the name does not exist, and returns its rule
// violation.
var retryableStates = []string{postgres.DeadlockDetected, postgres.SerializationFailure, postgres.ForeignKeyViolation}

// The error handling of the writes of each API.
var (
	// Clients of the Placement API retry this conflict, but not a 503.
	placementWrite = postgres.WriteKind{
		RetryStates: retryableStates, Contended: contended,
		LockTimeout: fault.New(fault.Conflict, WordsLocked).WithCode(fault.CodeConcurrentUpdate),
	}
	baremetalWrite = postgres.WriteKind{
		RetryStates: retryableStates, Contended: contended, LockTimeout: fault.New(fault.Unavailable, WordsLocked),
	}
	// A write of a node writes its provider too. The functions create the Placement rows that it needs. So a name is
	// missing, or the provider's UUID taken, only if another request deletes or creates it at that moment.
	nodeWrite = postgres.WriteKind{
		RetryStates:      slices.Concat(retryableStates, []string{string(ProviderNotFound), string(ClassNotFound), string(TraitNotFound)}),
		RetryConstraints: []string{string(ProviderUUIDTaken)},
		Contended:        contended, LockTimeout: fault.New(fault.Unavailable, WordsLocked),
	}
)

// write runs one SQL function of the Placement API, retries it after the errors of its kind, and translates its errors.
// If every attempt fails with such an error, it returns a conflict. With a Rehearsal in the context it is a dry run.
func (s *Store) write(ctx context.Context, of writeTargets, run func(db.DBTX) error) error {
	return s.writePlacement(ctx, placementWrite, of, run)
}

// writeResult is write for a function that returns its result as JSON, inside idempotency_end: run passes caller and key to
// the query. It returns the stored result if the response is a replay.
func (s *Store) writeResult(
	ctx context.Context, of writeTargets, run func(to db.DBTX, caller, key *string) (json.RawMessage, error),
) (result json.RawMessage, err error) {
	var caller, key *string
	if s.key != nil {
		caller, key = &s.key.Caller, &s.key.Key
	}
	err = s.write(ctx, of, func(to db.DBTX) (err error) {
		result, err = run(to, caller, key)
		return err
	})
	if err == nil && s.key != nil && s.key.Replayed {
		return s.key.Answer, nil
	}
	return result, err
}

// writePlacement is write with the error handling of kind.
func (s *Store) writePlacement(ctx context.Context, kind postgres.WriteKind, of writeTargets, run func(db.DBTX) error) error {
	if rehearsal, ok := ctx.Value(rehearsalKey{}).(*Rehearsal); ok {
		return ruleViolationFromPg(s.rehearse(ctx, kind, rehearsal, of, run))
	}
	if s.key != nil {
		return s.writeKeyed(ctx, kind, s.key, run)
	}
	return s.retryWrite(ctx, kind, func(to *postgres.Primary) error { return run(to) })
}

// writeBaremetal is write for functions of the Bare Metal API that write no providers.
func (s *Store) writeBaremetal(ctx context.Context, run func(*postgres.Primary) error) error {
	return s.retryWrite(ctx, baremetalWrite, run)
}

// retryWrite is write with the error handling of kind. While changes are recorded it sends who asks.
func (s *Store) retryWrite(ctx context.Context, kind postgres.WriteKind, run func(*postgres.Primary) error) error {
	return ruleViolationFromPg(s.pool.Write(ctx, kind, func(to *postgres.Primary) error { return run(s.withCaller(ctx, to)) }))
}
