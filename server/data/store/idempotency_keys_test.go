package store_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

var dueKeys = flag.Int("keys.due", 2_500, "expired idempotency keys that are deleted at once")

// keyOf returns a key for a request whose content is its text.
func keyOf(name, request string) *store.IdempotencyKey {
	return &store.IdempotencyKey{
		Caller: "noauth2\nnova\nservices", Key: name, Fingerprint: sha256.Sum256([]byte(request)), Request: "POST /allocations",
		Status: 204, Lifetime: time.Hour, At: time.Now(),
	}
}

// keyedClaim claims VCPU of a provider for a new consumer, and reports whether the response was replayed.
func keyedClaim(ctx context.Context, on *store.Store, key *store.IdempotencyKey, consumer string, provider uuid.UUID, amount int64) (bool, error) {
	err := on.Keyed(key).AllocationReplace(ctx, []store.Claim{claim(consumer, nil, provider, amount)}, true)
	return key.Replayed, err
}

// countKeys returns the number of rows.
func (b *bundle) countKeys() (found int) {
	b.t.Helper()
	b.must(b.db.Pool.QueryRow(b.t.Context(), "SELECT count(*) FROM idempotency_keys").Scan(&found))
	return found
}

// expire shifts the expiry of a key into the past.
func (b *bundle) expire(name string) {
	b.t.Helper()
	_, err := b.db.Pool.Exec(b.t.Context(), "UPDATE idempotency_keys SET expires_at = now() WHERE key = $1", name)
	b.must(err)
}

func TestClaim_IdempotencyKey_CountsRoundTrips(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	_, err := keyedClaim(t.Context(), b.Store, keyOf("first", "0 server"), "0 server", host, 1) // prepares what is prepared on first use
	b.must(err)
	_, err = keyedClaim(t.Context(), b.Store, keyOf("first", "0 server"), "0 server", host, 1)
	b.must(err)
	for _, c := range []struct {
		name, key, consumer string
		amount              int64
		replayed            bool
		rule                store.Rule
		trips               int64
	}{
		{"a new key", "k1", "1 server", 2, false, "", 1},
		{"its repetition", "k1", "1 server", 2, true, "", 2},
		{"another request", "k1", "2 server", 2, false, store.IdempotencyKeyReused, 1},
		{"a claim that does not fit", "k2", "3 server", 100, false, store.AllocationExceedsCapacity, 1},
		{"the same key afterwards", "k2", "3 server", 1, false, "", 1},
	} {
		ctx, trips := postgres.CountRoundTrips(t.Context())
		replayed, err := keyedClaim(ctx, b.Store, keyOf(c.key, c.consumer), c.consumer, host, c.amount)
		if outcome(err) != c.rule || replayed != c.replayed || trips.Count() != c.trips {
			t.Errorf("%s: got %q, replayed %v, round trips %d, want %q, %v, %d", c.name, outcome(err), replayed, trips.Count(), c.rule, c.replayed, c.trips)
		}
	}
	if keys, replays := b.IdempotencyStat(); keys != 3 || replays != 2 {
		t.Errorf("keys = %d, replays = %d, want 3, 2", keys, replays)
	}
	if got := b.used(host); got != 4 {
		t.Errorf("used = %d, want 4", got)
	}
}

// TestClaim_IdempotencyKeyReused_NamesFirstRequest: the error has what the text for the client needs.
func TestClaim_IdempotencyKeyReused_NamesFirstRequest(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	_, err := keyedClaim(t.Context(), b.Store, keyOf("k", "one"), "1 server", host, 1)
	b.must(err)
	_, err = b.db.Pool.Exec(t.Context(), "UPDATE idempotency_keys SET created_at = '2026-11-22T14:00:00+02'")
	b.must(err)
	other := keyOf("k", "two")
	other.Request = "POST /reshaper"
	_, err = keyedClaim(t.Context(), b.Store, other, "2 server", host, 1)
	violation := store.AsRuleViolation(err)
	if violation == nil || violation.Values.Request != "POST /allocations" ||
		!violation.Values.CreatedAt.Equal(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v", err)
	}
}

// TestClaim_IdempotencyKeyOfAnyStatement_Replayed: statements that return a row or rows.
func TestClaim_IdempotencyKeyOfAnyStatement_Replayed(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	for _, consumer := range []string{"1 server", "3 server"} {
		b.must(b.AllocationReplace(t.Context(), []store.Claim{claim(consumer, nil, host, 1)}, true))
	}
	for name, want := range map[string]bool{"delete": true, "nothing": false} {
		key := keyOf(name, "delete")
		before := dbtest.Snapshot(t, b.db)
		consumer := map[bool]string{true: "1 server", false: "2 server"}[want]
		existed, err := b.Keyed(key).AllocationDelete(t.Context(), named(consumer), nil)
		if existed != want || err != nil || key.Replayed {
			t.Errorf("%s: existed = %v, %v, replayed %v", name, existed, err, key.Replayed)
		}
		if changes := before.Diff(dbtest.Snapshot(t, b.db)); changes == nil {
			t.Errorf("%s: nothing changed", name)
		}
		again := keyOf(name, "delete")
		if _, err := b.Keyed(again).AllocationDelete(t.Context(), named(consumer), nil); err != nil || !again.Replayed || again.Answer != nil {
			t.Errorf("%s again: %v, replayed %v, answer %s", name, err, again.Replayed, again.Answer)
		}
	}
	stale := keyOf("stale", "stale")
	_, err := b.Keyed(stale).AllocationDelete(t.Context(), named("3 server"), at(7))
	if outcome(err) != store.ConsumerGenerationConflict {
		t.Errorf("a stale generation: got %v", err)
	}
	if got := b.countKeys(); got != 2 {
		t.Errorf("stored keys = %d, want 2", got)
	}
}

// TestClaim_SameIdempotencyKeyOnTwoServers_SecondWaits: the second request waits longer than lock_timeout.
func TestClaim_SameIdempotencyKeyOnTwoServers_SecondWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		amount   int64 // of the first request
		replayed bool  // of the second one
	}{"the first succeeds": {1, true}, "the first does not fit": {100, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := postgres.Options{MaxConns: 2, Limits: postgres.Limits{LockTimeout: 400 * time.Millisecond}}
			b := setupLimited(t, postgres.Options{MaxConns: 2})
			limits.URL = b.db.URL
			other, err := store.Open(t.Context(), limits)
			b.must(err)
			t.Cleanup(other.Close)
			host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
			release := b.blocked(host)
			first, second := make(chan error, 1), make(chan error, 1)
			key := keyOf("k", "request")
			go func() {
				_, err := keyedClaim(bounded(t), b.Store, keyOf("k", "request"), "1 server", host, c.amount)
				first <- err
			}()
			b.awaitWaiting()
			go func() {
				_, err := keyedClaim(bounded(t), other, key, "1 server", host, 1)
				second <- err
			}()
			b.await("both wait", waitersReach, 2)
			for since := time.Now(); time.Since(since) < time.Second; time.Sleep(20 * time.Millisecond) {
				select {
				case err := <-second:
					t.Fatalf("the second request ended: %v", err)
				default:
				}
			}
			release()
			if err := <-first; (err == nil) != c.replayed {
				t.Errorf("the first request: %v", err)
			}
			if err := <-second; err != nil || key.Replayed != c.replayed {
				t.Errorf("the second request: %v, replayed %v, want %v", err, key.Replayed, c.replayed)
			}
			if got := b.used(host); got != 1 {
				t.Errorf("used = %d, want 1", got)
			}
		})
	}
}

// TestClaim_ManyRepetitionsAtOnce_LeaveConnections: requests with one key use one connection, so other writes go on.
func TestClaim_ManyRepetitionsAtOnce_LeaveConnections(t *testing.T) {
	t.Parallel()
	const repetitions = 64
	b := setupLimited(t, postgres.Options{MaxConns: 3, ReadReserve: 1, Limits: postgres.Limits{LockTimeout: time.Minute}})
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	other := b.provider("b host", nil, map[string]int32{"VCPU": 100})
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("0 server", nil, other, 1)}, true)) // creates the project
	release := b.blocked(host)
	var all sync.WaitGroup
	outcomes := make(chan bool, repetitions)
	for range repetitions {
		all.Go(func() {
			replayed, err := keyedClaim(bounded(t), b.Store, keyOf("k", "request"), "1 server", host, 1)
			if err != nil {
				t.Error(err)
			}
			outcomes <- replayed
		})
	}
	b.awaitWaiting()
	soon, done := context.WithTimeout(t.Context(), 20*time.Second)
	defer done()
	if _, err := keyedClaim(soon, b.Store, keyOf("other", "request"), "2 server", other, 1); err != nil {
		t.Errorf("another write: %v", err)
	}
	gone, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := keyedClaim(gone, b.Store, keyOf("k", "request"), "1 server", host, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request whose time ends: %v", err)
	}
	release()
	all.Wait()
	replays := 0
	for range repetitions {
		if <-outcomes {
			replays++
		}
	}
	if got := b.used(host); got != 1 || replays != repetitions-1 {
		t.Errorf("used = %d, replays = %d, want 1, %d", got, replays, repetitions-1)
	}
}

func TestClaim_IdempotencyKeyExpired_Unknown(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	_, err := keyedClaim(t.Context(), b.Store, keyOf("k", "1 server"), "1 server", host, 1)
	b.must(err)
	b.expire("k")
	// As if the key had never been there, although the row is not deleted yet.
	_, err = keyedClaim(t.Context(), b.Store, keyOf("k", "1 server"), "1 server", host, 1)
	if outcome(err) != store.ConsumerGenerationConflict {
		t.Errorf("the same request: got %v", err)
	}
	replayed, err := keyedClaim(t.Context(), b.Store, keyOf("k", "2 server"), "2 server", host, 1)
	if err != nil || replayed {
		t.Errorf("another request: replayed %v, %v", replayed, err)
	}
	replayed, err = keyedClaim(t.Context(), b.Store, keyOf("k", "2 server"), "2 server", host, 1)
	if err != nil || !replayed {
		t.Errorf("its repetition: replayed %v, %v", replayed, err)
	}
	var lifetime float64
	b.must(b.db.Pool.QueryRow(t.Context(), "SELECT extract(epoch FROM expires_at - now())::float8 FROM idempotency_keys").Scan(&lifetime))
	if math.Abs(lifetime-time.Hour.Seconds()) > 60 {
		t.Errorf("lifetime = %v s, want an hour", lifetime)
	}
}

func TestClaim_IdempotencyKeysFull_RejectsNewKeysOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	b.LimitIdempotencyKeys(2)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
	for n := range 2 {
		name := fmt.Sprintf("%d server", n)
		_, err := keyedClaim(t.Context(), b.Store, keyOf(name, name), name, host, 1)
		b.must(err)
	}
	before := dbtest.Snapshot(t, b.db)
	if _, err := keyedClaim(t.Context(), b.Store, keyOf("new", "new"), "3 server", host, 1); !errors.Is(err, store.ErrKeysFull) {
		t.Errorf("a new key: %v", err)
	}
	if replayed, err := keyedClaim(t.Context(), b.Store, keyOf("0 server", "0 server"), "0 server", host, 1); err != nil || !replayed {
		t.Errorf("a known key: replayed %v, %v", replayed, err)
	}
	if _, err := keyedClaim(t.Context(), b.Store, keyOf("0 server", "other"), "3 server", host, 1); outcome(err) != store.IdempotencyKeyReused {
		t.Errorf("a known key with another request: %v", err)
	}
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("4 server", nil, host, 0)}, true)) // without a key: no limit
	if changes := before.Diff(dbtest.Snapshot(t, b.db)); changes != nil {
		t.Errorf("changed: %q", changes)
	}
	b.expire("0 server")
	if _, err := keyedClaim(t.Context(), b.Store, keyOf("0 server", "0 server"), "0 server", host, 1); !errors.Is(err, store.ErrKeysFull) {
		t.Errorf("an expired key: %v", err)
	}
	if more, err := b.IdempotencyClean(t.Context()); more || err != nil {
		t.Fatal(more, err)
	}
	if _, err := keyedClaim(t.Context(), b.Store, keyOf("new", "new"), "3 server", host, 1); err != nil {
		t.Errorf("a new key after the expired one was deleted: %v", err)
	}
}

// TestClaim_IdempotencyKeysDue_DeletedInSteps skips a row that another transaction has locked. The flag -keys.due sets the
// number of keys.
func TestClaim_IdempotencyKeysDue_DeletedInSteps(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	_, err := b.db.Pool.Exec(t.Context(), `INSERT INTO idempotency_keys (caller, key, fingerprint, request, status, expires_at)
		SELECT 'caller', 'k' || n, '\x00', 'POST /allocations', 204, now() + CASE WHEN n <= $1 THEN interval '-1 s' ELSE interval '1 h' END
		FROM generate_series(1, $1 + 10) AS n`, *dueKeys)
	b.must(err)
	holder, err := b.db.Pool.Begin(t.Context())
	b.must(err)
	_, err = holder.Exec(t.Context(), "SELECT FROM idempotency_keys WHERE key = 'k7' FOR UPDATE")
	b.must(err)
	start, steps := time.Now(), 0
	for more := true; more; steps++ {
		more, err = b.IdempotencyClean(t.Context())
		b.must(err)
	}
	t.Logf("deleted %d keys in %d steps and %v", *dueKeys, steps, time.Since(start))
	if want := (*dueKeys-1)/1000 + 1; steps != want {
		t.Errorf("steps = %d, want %d", steps, want)
	}
	if keys, _ := b.IdempotencyStat(); keys != 11 || b.countKeys() != 11 {
		t.Errorf("keys = %d, rows = %d, want 11", keys, b.countKeys())
	}
	b.must(holder.Rollback(t.Context()))
	_, err = b.IdempotencyClean(t.Context())
	b.must(err)
	if keys, _ := b.IdempotencyStat(); keys != 10 {
		t.Errorf("keys = %d, want 10", keys)
	}
}
