package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// setupWith is setup with settings of PostgreSQL for the store's sessions, each in the form `a=b`.
func setupWith(t *testing.T, settings ...string) *bundle {
	t.Helper()
	b := setup(t, 1)
	url := b.db.URL
	for _, one := range settings {
		separator := "?"
		if strings.Contains(url, "?") {
			separator = "&"
		}
		url += separator + one
	}
	opened, err := store.Open(t.Context(), postgres.Options{URL: url, MaxConns: 1})
	b.must(err)
	t.Cleanup(opened.Close)
	b.Store = opened
	return b
}

// outside begins a transaction outside the store with a long deadlock_timeout, so that PostgreSQL never checks for
// deadlocks in its session.
func (b *bundle) outside() pgx.Tx {
	b.t.Helper()
	tx, err := b.db.Pool.Begin(b.t.Context())
	b.must(err)
	b.t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(b.t.Context())) })
	_, err = tx.Exec(b.t.Context(), "SET LOCAL deadlock_timeout = '10min'")
	b.must(err)
	return tx
}

// lockOf takes the lock that every write to a provider needs.
const lockOf = "SELECT FROM provider_generations AS held JOIN resource_providers AS provider ON provider.id = held.provider_id " +
	"WHERE provider.uuid = $1 FOR UPDATE OF held"

// awaitWaiters returns when wanted sessions wait for a lock, and fails the test after 30 seconds.
func (b *bundle) awaitWaiters(wanted int) {
	b.t.Helper()
	waiting := 0
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		b.must(b.db.Pool.QueryRow(b.t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
		if waiting >= wanted {
			return
		}
	}
	b.t.Fatalf("%d sessions wait for a lock after 30 s, want %d", waiting, wanted)
}

// claimOn is a claim of one new consumer on several providers.
func claimOn(consumer string, providers ...uuid.UUID) store.Claim {
	made := claim(consumer, nil, uuid.Nil, 0)
	for _, provider := range providers {
		made.Allocations = append(made.Allocations, store.Allocation{Provider: provider, Class: "VCPU", Amount: 1})
	}
	return made
}

// A claim has written consumers and waits for its first provider. An outside transaction holds the second provider and
// waits for the table of consumers. When the first is released there is a deadlock. Only the claim's session checks for
// deadlocks, so PostgreSQL cancels the claim. The waiting transaction then gets the table lock before the retried
// claim; with a row lock the retry could be first.
func TestLocks_DeadlockVictim_Retried(t *testing.T) {
	t.Parallel()
	b := setupWith(t, "deadlock_timeout=10ms")
	ctx := t.Context()
	hosts := []uuid.UUID{b.provider("a host", nil, map[string]int32{"VCPU": 8}), b.provider("b host", nil, map[string]int32{"VCPU": 8})}
	gate, other := b.outside(), b.outside()
	_, err := gate.Exec(ctx, lockOf, hosts[0])
	b.must(err)
	_, err = other.Exec(ctx, lockOf, hosts[1])
	b.must(err)
	outcomes, ended := b.start([]func(context.Context) error{func(ctx context.Context) error {
		return b.AllocationReplace(ctx, []store.Claim{claimOn("d server", hosts...)}, true)
	}})
	b.awaitWaiters(1)
	locked := make(chan error, 1)
	go func() {
		_, err := other.Exec(ctx, "LOCK TABLE consumers IN SHARE MODE")
		locked <- err
	}()
	b.awaitWaiters(2)
	b.must(gate.Commit(ctx))
	b.must(<-locked) // the claim has released it
	var claims int
	b.must(other.QueryRow(ctx, "SELECT count(*) FROM allocations").Scan(&claims))
	b.must(other.Commit(ctx))
	ended()
	if claims != 0 || outcomes[0] != "" || b.Pool().Retries() != 1 {
		t.Errorf("allocations in between = %d, then outcome = %q after %d retries, want none, success and 1", claims, outcomes[0], b.Pool().Retries())
	}
	if used := b.used(hosts[0]) + b.used(hosts[1]); used != 2 {
		t.Errorf("used = %d, want 2", used)
	}
}

// A claim waits for a provider that an outside transaction changes. In a strict isolation level, PostgreSQL would raise a
// serialization failure because of the row read before. Berth sets its level, whatever the connection string has.
func TestLocks_IsolationInConnectionString_HasNoEffect(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setupWith(t, "default_transaction_isolation="+strings.ReplaceAll(level, " ", "%20"))
			ctx := t.Context()
			host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
			other := b.outside()
			_, err := other.Exec(ctx, "UPDATE provider_generations SET generation = generation + 1")
			b.must(err)
			outcomes, ended := b.start([]func(context.Context) error{func(ctx context.Context) error {
				return b.AllocationReplace(ctx, []store.Claim{claimOn("d server", host)}, true)
			}})
			b.awaitWaiters(1)
			b.must(other.Commit(ctx))
			ended()
			if outcomes[0] != "" || b.Pool().Retries() != 0 || b.used(host) != 1 {
				t.Errorf("outcome = %q, retries = %d, used = %d, want success, 0 and 1", outcomes[0], b.Pool().Retries(), b.used(host))
			}
		})
	}
}

// breaking makes the database cancel a number of writes of allocations, each at its end. A sequence counts them,
// because it is not rolled back.
const breaking = `
CREATE SEQUENCE begun;
CREATE FUNCTION break_off() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('begun') <= %d THEN
		RAISE EXCEPTION 'broken off' USING ERRCODE = '%s';
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER broken_off AFTER INSERT ON allocations FOR EACH STATEMENT EXECUTE FUNCTION break_off();`

// The store tries a write four times. If PostgreSQL cancels each attempt, the client gets a conflict, and nothing was
// changed.
func TestLocks_RetriesExhausted_ReturnsConflict(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"40P01", "40001", "23503"} {
		for _, times := range []int{1, 3, 4} {
			t.Run(fmt.Sprintf("%s, %d times", code, times), func(t *testing.T) {
				t.Parallel()
				b := setupWith(t)
				host := b.provider("a host", nil, map[string]int32{"VCPU": 8})
				_, err := b.db.Pool.Exec(t.Context(), fmt.Sprintf(breaking, times, code))
				b.must(err)
				err = b.AllocationReplace(t.Context(), []store.Claim{claimOn("d server", host)}, true)
				var refused *fault.Error
				switch {
				case times < 4 && (err != nil || b.used(host) != 1):
					t.Errorf("error = %v, used = %d, want success and 1", err, b.used(host))
				case times == 4 && (!errors.As(err, &refused) || refused.Kind != fault.Conflict || refused.Code != fault.CodeConcurrentUpdate):
					t.Errorf("error = %v, want a conflict of concurrent updates", err)
				case times == 4 && b.used(host) != 0:
					t.Errorf("used = %d, want 0", b.used(host))
				}
				if wanted := int64(min(times, 3)); b.Pool().Retries() != wanted {
					t.Errorf("retries = %d, want %d", b.Pool().Retries(), wanted)
				}
			})
		}
	}
}
