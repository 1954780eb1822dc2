package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// IdempotencyKey is the Idempotency-Key of a request, and after its write the stored response. One goroutine at a time
// may use it.
type IdempotencyKey struct {
	// Caller identifies the client: authentication method or issuer, user and project.
	Caller string
	Key    string
	// Fingerprint is the SHA-256 of the request, and Request its method and path.
	Fingerprint [32]byte
	Request     string
	// Status is that of the response if the write succeeds.
	Status int
	// Lifetime is the time until the key expires.
	Lifetime time.Duration
	// At is the time of the request; of a replayed one, that of the first request. Headers with a time have it.
	At time.Time

	// Replayed reports that an earlier request with this key has succeeded, and that this one changed nothing.
	Replayed bool
	// Answer is the result of the replayed write; nil: it has none.
	Answer json.RawMessage

	// isHeld is true while the request holds the key: see HoldIdempotencyKey.
	isHeld bool
}

// ErrKeysFull is the error of a write whose key has no room among the stored keys. Nothing was changed.
var ErrKeysFull = errors.New("the maximum number of idempotency keys is stored")

// errKeyWait is the error of an insert that waited longer than lock_timeout for another request with the same key.
var errKeyWait = errors.New("another request with the same idempotency key has not ended yet")

// Keyed returns the store whose next write of the Placement API has an idempotency key; nil: it has none. The write and
// the key are committed together.
func (s *Store) Keyed(key *IdempotencyKey) *Store {
	keyed := *s
	keyed.key = key
	return &keyed
}

// LimitIdempotencyKeys sets the maximum number of stored keys; 0: no limit. Call it before the first write.
func (s *Store) LimitIdempotencyKeys(rows int64) { s.keys.max = rows }

// IdempotencyStat returns the number of stored keys, as far as this process knows them, and the number of requests that
// got a stored response.
func (s *Store) IdempotencyStat() (keys, replays int64) {
	s.keys.mutex.Lock()
	defer s.keys.mutex.Unlock()
	return s.keys.counted + s.keys.added, s.keys.replays
}

// maxKeyedAttempts limits how often a write is repeated because its key was deleted between two statements.
const maxKeyedAttempts = 4

// writeKeyed is writePlacement with an idempotency key: one round trip for a key that is not stored, two for a stored one. Requests
// of this process with one key wait for each other here, without a connection and a slot of the write share. Requests of
// several processes wait in PostgreSQL.
func (s *Store) writeKeyed(ctx context.Context, kind postgres.WriteKind, key *IdempotencyKey, run func(db.DBTX) error) error {
	release, err := s.HoldIdempotencyKey(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	for attempt := 1; attempt <= maxKeyedAttempts; {
		if s.keys.isFull() {
			if found, err := s.replay(ctx, key, false); found || err != nil {
				return err
			}
			return ErrKeysFull
		}
		err := s.retryWrite(ctx, kind, func(to *postgres.Primary) error { return run(keyed(to, key)) })
		switch violation := AsRuleViolation(err); {
		case err == nil:
			s.keys.add()
			return nil
		case errors.Is(err, errKeyWait) && ctx.Err() == nil:
			continue // the request timeout bounds the wait
		case errors.Is(err, errKeyWait):
			return ctx.Err()
		case violation == nil || violation.Rule != IdempotencyKeyStored:
			return err
		}
		if found, err := s.replay(ctx, key, true); found || err != nil {
			return err
		}
		attempt++
	}
	return contended
}

// HoldIdempotencyKey waits until no other request of this process holds the key, and returns the function that releases it.
// Writes hold their keys; a request that reads before it writes holds its key over both.
func (s *Store) HoldIdempotencyKey(ctx context.Context, key *IdempotencyKey) (release func(), err error) {
	if key.isHeld {
		return func() {}, nil
	}
	done, err := s.keys.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	key.isHeld = true
	return func() { key.isHeld = false; done() }, nil
}

// IdempotencyShowIn reports whether the response of a key is stored, in the snapshot of a search. The key then has it.
func (s *Store) IdempotencyShowIn(ctx context.Context, in *postgres.Snapshot, key *IdempotencyKey) (found bool, err error) {
	row, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, from db.DBTX) (db.IdempotencyShowRow, error) {
		return s.queries.IdempotencyShow(ctx, from, key.Caller, key.Key)
	})
	return s.replayRow(key, row, err, false)
}

// IdempotencyAwait waits for requests of other processes with the key, and reports whether the response of one is stored.
// It is for a request that would fail without a write: it must not fail because of a concurrent one with the same key.
func (s *Store) IdempotencyAwait(ctx context.Context, key *IdempotencyKey) (found bool, err error) {
	err = s.retryWrite(ctx, placementWrite, func(to *postgres.Primary) error {
		begun, err := to.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = begun.Rollback(ctx) }() // the row of the key must not stay
		return s.queries.IdempotencyBegin(ctx, begun, key.begin())
	})
	if violation := AsRuleViolation(err); violation != nil && violation.Rule == IdempotencyKeyStored {
		return s.replay(ctx, key, true)
	}
	return false, err
}

// begin returns the arguments of idempotency_begin.
func (k *IdempotencyKey) begin() db.IdempotencyBeginParams {
	return db.IdempotencyBeginParams{
		Caller: k.Caller, Key: k.Key, Fingerprint: k.Fingerprint[:], Request: k.Request, Status: int32(k.Status),
		CreatedAt: k.At, Lifetime: k.Lifetime.Seconds(),
	}
}

// replay reads the stored response of a key and reports whether there is one. It returns a RuleViolation if the key
// belongs to another request. isValid: idempotency_begin has just compared the time, and the key may expire meanwhile.
func (s *Store) replay(ctx context.Context, key *IdempotencyKey, isValid bool) (found bool, err error) {
	row, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.IdempotencyShowRow, error) {
		return s.queries.IdempotencyShow(ctx, from, key.Caller, key.Key)
	})
	return s.replayRow(key, row, err, isValid)
}

// replayRow is replay with the result of its query.
func (s *Store) replayRow(key *IdempotencyKey, row db.IdempotencyShowRow, err error, isValid bool) (found bool, _ error) {
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case row.IsDue && !isValid:
		return false, nil
	case !bytes.Equal(row.Fingerprint, key.Fingerprint[:]):
		return false, &RuleViolation{IdempotencyKeyReused, Values{Request: row.Request, CreatedAt: row.CreatedAt}}
	}
	key.Replayed, key.Answer, key.At = true, row.Answer, row.CreatedAt
	s.keys.replayed()
	return true, nil
}

// keyStep is the maximum number of keys that one statement deletes.
const keyStep = 1000

// IdempotencyClean deletes at most keyStep expired keys and reports whether more may be due. After the last of them it
// counts the stored keys.
func (s *Store) IdempotencyClean(ctx context.Context) (more bool, err error) {
	err = s.withExplanationConn(ctx, func(ctx context.Context, on *postgres.Conn) error {
		deleted, err := s.queries.IdempotencyClean(ctx, on, keyStep)
		if more = deleted == keyStep; more || err != nil {
			return err
		}
		before := s.keys.ownKeys()
		counted, err := s.queries.IdempotencyCount(ctx, on)
		if err == nil {
			s.keys.setCount(counted, before)
		}
		return err
	})
	return more, err
}

// idempotencyKeys is what a process knows about the stored keys. It is safe for concurrent use.
type idempotencyKeys struct {
	// max is the maximum number of stored keys; 0: no limit.
	max int64

	mutex sync.Mutex
	// counted is the number of keys at the last count, and added the number that this process has added since.
	counted, added int64
	replays        int64
	// running are the keys of running writes.
	running map[keyName]*keyTurn
}

// keyName is the primary key of a stored key.
type keyName struct{ caller, key string }

// keyTurn is held by one of the requests with a key at a time.
type keyTurn struct {
	held  chan struct{}
	users int
}

// acquire waits until no other request of this process has the key, and returns the function that releases it. It returns
// the error of the context.
func (k *idempotencyKeys) acquire(ctx context.Context, key *IdempotencyKey) (release func(), err error) {
	name := keyName{key.Caller, key.Key}
	k.mutex.Lock()
	turn := k.running[name]
	if turn == nil {
		turn = &keyTurn{held: make(chan struct{}, 1)}
		k.running[name] = turn
	}
	turn.users++
	k.mutex.Unlock()
	leave := func() {
		k.mutex.Lock()
		defer k.mutex.Unlock()
		if turn.users--; turn.users == 0 {
			delete(k.running, name)
		}
	}
	select {
	case turn.held <- struct{}{}:
		return func() { <-turn.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

func (k *idempotencyKeys) isFull() bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.max > 0 && k.counted+k.added >= k.max
}

func (k *idempotencyKeys) add() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.added++
}

func (k *idempotencyKeys) replayed() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.replays++
}

func (k *idempotencyKeys) ownKeys() int64 {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.added
}

// setCount replaces the count. before is the result of ownKeys before the statement that counted: the count has these
// keys.
func (k *idempotencyKeys) setCount(counted, before int64) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.counted = counted
	k.added -= before
}
