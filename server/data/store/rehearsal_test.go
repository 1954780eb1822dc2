package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// wantUnused checks that all connections are back in the pool, and that none has a transaction.
func (b *bundle) wantUnused() {
	b.t.Helper()
	for range 500 {
		var open int
		b.must(b.db.Pool.QueryRow(context.Background(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'`).Scan(&open))
		if open == 0 && b.Pool().Stat().AcquiredConns() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // the pool closes broken connections in the background
	}
	b.t.Errorf("%d connections are in use, or transactions are open", b.Pool().Stat().AcquiredConns())
}

// locked locks the generation of a provider until the returned function is called.
func (b *bundle) locked(provider uuid.UUID) (unlock func()) {
	b.t.Helper()
	tx, err := b.db.Pool.Begin(b.t.Context())
	b.must(err)
	_, err = tx.Exec(b.t.Context(), `SELECT FROM provider_generations WHERE provider_id =
		(SELECT id FROM resource_providers WHERE uuid = $1) FOR UPDATE`, provider)
	b.must(err)
	return func() { b.must(tx.Rollback(b.t.Context())) }
}

// awaitLock waits until statements of the store wait for locks.
func (b *bundle) awaitLock() {
	b.t.Helper()
	for range 500 {
		var waiting int
		b.must(b.db.Pool.QueryRow(b.t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
		if waiting > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatal("no statement waits for a lock")
}

func TestClaim_DryRunsBesideWriters_ShowOnlyTheirOwnChange(t *testing.T) {
	t.Parallel()
	b := setup(t, 12)
	host, other := b.provider("a host", nil, map[string]int32{"VCPU": 10000}), b.provider("b host", nil, map[string]int32{"VCPU": 10000})
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("d moved", nil, other, 3)}, true))
	var writers, runs sync.WaitGroup
	stop := make(chan struct{})
	for writer := range 16 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				on := []uuid.UUID{host, other}[n%2]
				b.must(b.AllocationReplace(t.Context(), []store.Claim{claim(fmt.Sprintf("c %d %d", writer, n), nil, on, 1)}, true))
			}
		})
	}
	for run := range 2 {
		runs.Go(func() {
			for n := range 20 {
				moved := claim("d moved", at(1), host, 5)
				ctx, rehearsal := store.WithRehearsal(t.Context())
				if err := b.AllocationReplace(ctx, []store.Claim{moved}, true); err != nil {
					if found := fault.As(err); found != nil && found.Code == fault.CodeDryRunBusy {
						continue
					}
					t.Errorf("dry run %d of %d: %v", n, run, err)
					return
				}
				for provider, want := range map[uuid.UUID]int64{host: 5, other: -3} {
					before, after := rehearsal.Before.Providers[provider], rehearsal.After.Providers[provider]
					if got := after.Usages["VCPU"] - before.Usages["VCPU"]; got != want {
						t.Errorf("usage of %s changes by %d, want %d", before.Name, got, want)
					}
				}
			}
		})
	}
	runs.Wait()
	close(stop)
	writers.Wait()
	if got := b.used(other); got < 3 {
		t.Errorf("used = %d, want the claim that the dry runs moved", got)
	}
	b.wantUnused()
}

func TestConnLoss_DuringDryRun_RetriedAndConnectionsReturned(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	unlock := b.locked(host)
	done := make(chan error, 1)
	ctx, rehearsal := store.WithRehearsal(t.Context())
	go func() { done <- b.AllocationReplace(ctx, []store.Claim{claim("a server", nil, host, 1)}, true) }()
	b.awaitLock()
	_, err := b.db.Pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	b.must(err)
	unlock()
	b.must(<-done)
	if after := rehearsal.After.Providers[host]; after.Usages["VCPU"] != 1 {
		t.Errorf("state afterwards = %+v", after)
	}
	if got := b.used(host); got != 0 {
		t.Errorf("used = %d, want 0", got)
	}
	b.wantUnused()
}

func TestClaim_CanceledDryRun_ReturnsConnections(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	unlock := b.locked(host)
	canceled, cancel := context.WithCancel(t.Context())
	ctx, _ := store.WithRehearsal(canceled)
	done := make(chan error, 1)
	go func() { done <- b.AllocationReplace(ctx, []store.Claim{claim("a server", nil, host, 1)}, true) }()
	b.awaitLock()
	cancel()
	if err := <-done; err == nil {
		t.Error("a canceled dry run succeeded")
	}
	unlock()
	b.wantUnused()
}

func TestClaim_DryRunWithOneConnection_IsBusy(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	ctx, _ := store.WithRehearsal(t.Context())
	_, err := b.ProviderCreate(ctx, named("a host"), "a host", nil)
	if found := fault.As(err); found == nil || found.Code != fault.CodeDryRunBusy || found.Kind != fault.Unavailable || found.RetryAfter != time.Second {
		t.Errorf("error = %v", err)
	}
}

func TestClaim_DryRunWithoutSecondConnection_IsBusyAndReleasesFirst(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	rows, err := b.ProviderList(t.Context(), store.ProviderFilter{}) // holds a connection until it is closed
	b.must(err)
	ctx, _ := store.WithRehearsal(t.Context())
	_, err = b.ProviderCreate(ctx, named("a host"), "a host", nil)
	if found := fault.As(err); found == nil || found.Code != fault.CodeDryRunBusy {
		t.Errorf("error = %v", err)
	}
	if got := b.Pool().Stat().AcquiredConns(); got != 1 {
		t.Errorf("connections in use = %d, want that of the list", got)
	}
	b.must(rows.Close())
	_, err = b.ProviderCreate(ctx, named("a host"), "a host", nil)
	b.must(err)
	b.wantUnused()
}

func TestClaim_PanicInDryRun_RollsBack(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	stored := dbtest.Snapshot(t, b.db)
	func() {
		defer func() {
			if recover() != "stop" {
				t.Error("no panic")
			}
		}()
		_ = b.Pool().Rehearse(t.Context(), postgres.WriteKind{}, func(conns *postgres.RehearsedConns) error {
			batch := conns.Batch()
			insert := postgres.Enqueue(batch, func(ctx context.Context, on db.DBTX) (pgconn.CommandTag, error) {
				return on.Exec(ctx, "INSERT INTO traits (name) VALUES ('CUSTOM_A')")
			})
			b.must(batch.Send(t.Context()))
			_, err := insert(t.Context())
			b.must(errors.Join(err, batch.Close()))
			panic("stop")
		})
	}()
	b.wantUnused()
	if diff := stored.Diff(dbtest.Snapshot(t, b.db)); len(diff) > 0 {
		t.Errorf("the dry run has changed %q", diff)
	}
}

// hinderReads makes the state before the write of dry runs wait until the returned function is called: it is read in a
// transaction that is read-only.
func (b *bundle) hinderReads() (proceed func()) {
	b.t.Helper()
	for _, statement := range []string{
		"ALTER FUNCTION state_read_providers RENAME TO state_read_providers_unhindered",
		`CREATE FUNCTION state_read_providers(p_named uuid[], p_held bigint[], p_brief bool, OUT ids bigint[], OUT uuids uuid[], OUT states json)
			LANGUAGE plpgsql STABLE AS $$
			BEGIN
				IF current_setting('transaction_read_only') = 'on' THEN
					PERFORM pg_advisory_xact_lock(1);
				END IF;
				SELECT shown.ids, shown.uuids, shown.states INTO ids, uuids, states
				FROM state_read_providers_unhindered(p_named, p_held, p_brief) AS shown;
			END
			$$`,
	} {
		_, err := b.db.Pool.Exec(b.t.Context(), statement)
		b.must(err)
	}
	tx, err := b.db.Pool.Begin(b.t.Context())
	b.must(err)
	_, err = tx.Exec(b.t.Context(), "SELECT pg_advisory_xact_lock(1)")
	b.must(err)
	return func() { b.must(tx.Rollback(b.t.Context())) }
}

// beginOther begins a transaction that locks the consumer until the returned function is called. It ends after a dry run has
// read the state before its write, which must therefore be read again.
func (b *bundle) beginOther() (end func()) {
	b.t.Helper()
	tx, err := b.db.Pool.Begin(b.t.Context())
	b.must(err)
	_, err = tx.Exec(b.t.Context(), "SELECT FROM consumers FOR UPDATE")
	b.must(err)
	return func() { b.must(tx.Commit(b.t.Context())) }
}

// isConsumerFree waits until no transaction has locked the consumer, and returns false if that does not happen.
func (b *bundle) isConsumerFree() bool {
	for range 500 {
		free, err := b.db.Pool.Exec(b.t.Context(), "SELECT FROM consumers FOR UPDATE SKIP LOCKED")
		b.must(err)
		if free.RowsAffected() == 1 {
			return true
		}
		time.Sleep(10 * time.Millisecond) // the ROLLBACK is on its way
	}
	return false
}

func TestClaim_DryRunReadsStateBefore_LocksAreFree(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("d changed", nil, host, 3)}, true))
	proceed := b.hinderReads()
	end := b.beginOther()
	ctx, rehearsal := store.WithRehearsal(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.AllocationReplace(ctx, []store.Claim{claim("d changed", at(1), host, 5)}, true) }()
	b.awaitLock()
	end()
	b.awaitLock()
	if !b.isConsumerFree() {
		proceed()
		t.Fatal("the dry run holds its locks while it reads the state before")
	}
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("d changed", at(1), host, 7)}, true))
	proceed()
	b.must(<-done)
	got := []int64{
		rehearsal.Before.Providers[host].Usages["VCPU"], rehearsal.Before.Consumers[named("d changed")].Allocations[host]["VCPU"],
		rehearsal.After.Providers[host].Usages["VCPU"], rehearsal.After.Consumers[named("d changed")].Allocations[host]["VCPU"],
	}
	if want := []int64{3, 3, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("usages and allocations before and after = %d, want %d", got, want)
	}
	b.wantUnused()
}

func TestClaim_DryRunAfterConsumerMoved_ShowsItsProvider(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host, other := b.provider("a host", nil, map[string]int32{"VCPU": 100}), b.provider("b host", nil, map[string]int32{"VCPU": 100})
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("d moved", nil, host, 3)}, true))
	tx, err := b.db.Pool.Begin(t.Context())
	b.must(err)
	for _, statement := range []string{
		"SELECT FROM consumers FOR UPDATE",
		"UPDATE allocations SET provider_id = (SELECT id FROM resource_providers WHERE name = 'b host')",
		"UPDATE inventories SET used = 3 - used",
	} {
		_, err := tx.Exec(t.Context(), statement)
		b.must(err)
	}
	ctx, rehearsal := store.WithRehearsal(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.AllocationDelete(ctx, named("d moved"), nil)
		done <- err
	}()
	b.awaitLock()
	b.must(tx.Commit(t.Context()))
	b.must(<-done)
	usages := func(state store.State) map[uuid.UUID]int64 {
		made := map[uuid.UUID]int64{}
		for id, provider := range state.Providers {
			made[id] = provider.Usages["VCPU"]
		}
		return made
	}
	before, after := usages(rehearsal.Before), usages(rehearsal.After)
	if !maps.Equal(before, map[uuid.UUID]int64{other: 3}) || !maps.Equal(after, map[uuid.UUID]int64{other: 0}) {
		t.Errorf("usages before = %v, after = %v, want 3 and 0 of %s only", before, after, other)
	}
	b.wantUnused()
}

// TestClaim_DryRunOfManyConsumers_CallsEachFunctionOnce counts the calls of functions that read states: none is called for
// each consumer or provider.
func TestClaim_DryRunOfManyConsumers_CallsEachFunctionOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	var claims []store.Claim
	var consumers, providers []uuid.UUID
	for i := range 20 {
		host := b.provider(fmt.Sprintf("%x host", i), nil, map[string]int32{"VCPU": 100})
		claims = append(claims, claim(fmt.Sprintf("%x server", i), nil, host, 1))
		consumers, providers = append(consumers, named(fmt.Sprintf("%x server", i))), append(providers, host)
	}
	b.must(b.AllocationReplace(t.Context(), claims, true))
	tx, err := b.db.Pool.Begin(t.Context())
	b.must(err)
	defer func() { _ = tx.Rollback(context.Background()) }() // nothing to keep
	_, err = tx.Exec(t.Context(), "SET LOCAL track_functions = 'all'")
	b.must(err)
	shown, err := db.New().StateShow(t.Context(), tx, db.StateShowParams{Consumers: consumers})
	b.must(err)
	slices.SortFunc(shown.ProviderUuids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	slices.SortFunc(providers, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	if !slices.Equal(shown.ProviderUuids, providers) || len(shown.Amounts) != len(claims) {
		t.Errorf("providers = %v, amounts = %v", shown.ProviderUuids, shown.Amounts)
	}
	rows, err := tx.Query(t.Context(), "SELECT format('%s: %s', funcname, calls) FROM pg_stat_xact_user_functions ORDER BY funcname")
	b.must(err)
	calls, err := pgx.CollectRows(rows, pgx.RowTo[string])
	b.must(err)
	if want := []string{"state_read: 1", "state_read_consumers: 1", "state_read_providers: 1"}; !slices.Equal(calls, want) {
		t.Errorf("calls = %q, want %q", calls, want)
	}
}
