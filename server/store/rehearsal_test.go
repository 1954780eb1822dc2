package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/store"
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
		_ = b.Pool().Rehearse(t.Context(), postgres.WriteKind{}, func(to, _ *pgxpool.Conn) error {
			_, err := to.Exec(t.Context(), "INSERT INTO traits (name) VALUES ('CUSTOM_A')")
			b.must(err)
			panic("stop")
		})
	}()
	b.wantUnused()
	if diff := stored.Diff(dbtest.Snapshot(t, b.db)); len(diff) > 0 {
		t.Errorf("the dry run has changed %q", diff)
	}
}
