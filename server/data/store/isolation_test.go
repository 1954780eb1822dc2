package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// isolationLevels are the defaults that an operator may set for all transactions.
var isolationLevels = []string{"read committed", "repeatable read", "serializable"}

// setupIsolated is setup on a database with a default isolation level, and perhaps as behind a transaction pooler, which
// keeps no parameter of the session.
func setupIsolated(t *testing.T, level string, pooled bool, connections int32) *bundle {
	t.Helper()
	db := dbtest.NewWithInvariantTriggers(t)
	_, err := db.Pool.Exec(t.Context(), "ALTER DATABASE "+pgx.Identifier{db.Name}.Sanitize()+" SET default_transaction_isolation = '"+level+"'")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: connections, Pooler: pooled})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return &bundle{Store: opened, t: t, db: db}
}

// eachIsolation runs a test for each default isolation level, directly and as behind a transaction pooler.
func eachIsolation(t *testing.T, connections int32, test func(t *testing.T, b *bundle)) {
	t.Helper()
	for _, level := range isolationLevels {
		for way, pooled := range map[string]bool{"direct": false, "pooler": true} {
			t.Run(level+", "+way, func(t *testing.T) {
				t.Parallel()
				test(t, setupIsolated(t, level, pooled, connections))
			})
		}
	}
}

// Three roots are moved below each other at once. The audit at the end of the test checks the roots of all providers.
func TestLocks_DefaultIsolationOfDatabase_ReparentedTreesKeepTheirRoots(t *testing.T) {
	t.Parallel()
	eachIsolation(t, 3, func(t *testing.T, b *bundle) {
		for round := range 4 {
			var names [3]string
			for i := range names {
				names[i] = fmt.Sprintf("%x root %d", i+10, round)
				b.provider(names[i], nil, nil)
			}
			var moves []func(context.Context) error
			for i := range names {
				moves = append(moves, func(ctx context.Context) error { return moveUnder(ctx, b, names[i], names[(i+1)%3]) })
			}
			got := tally(b.behind("SELECT FROM resource_providers FOR UPDATE", moves...))
			if want := map[store.Rule]int{"": 2, store.ParentCycle: 1}; !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	})
}

// All claims wait for one provider, and are decided one after the other: none fails because of the others.
func TestClaim_DefaultIsolationOfDatabase_AsManySucceedAsFit(t *testing.T) {
	t.Parallel()
	const claimants, total = 8, 6
	eachIsolation(t, claimants, func(t *testing.T, b *bundle) {
		host := b.provider("a host", nil, map[string]int32{"VCPU": total})
		var claims []func(context.Context) error
		for i := range claimants {
			claims = append(claims, func(ctx context.Context) error {
				return b.AllocationReplace(ctx, []store.Claim{claim(fmt.Sprintf("%x server", i), nil, host, 1)}, true)
			})
		}
		got := tally(b.behind(lockProviders, claims...))
		want := map[store.Rule]int{"": total, store.AllocationExceedsCapacity: claimants - total}
		if !maps.Equal(got, want) || b.used(host) != total {
			t.Errorf("got %v, used = %d, want %v and %d", got, b.used(host), want, total)
		}
		if b.Pool().Retries() > 0 {
			t.Errorf("retries = %d, want 0", b.Pool().Retries())
		}
	})
}

// A write with an idempotency key is a batch, a dry run and a change of settings are transactions.
func TestServer_DefaultIsolationOfDatabase_TransactionsAreReadCommitted(t *testing.T) {
	t.Parallel()
	eachIsolation(t, 3, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		const level = "SELECT current_setting('transaction_isolation')"
		found := map[string]string{}
		read := func(of string, row pgx.Row) error {
			var value string
			err := row.Scan(&value)
			found[of] = value
			return err
		}
		b.must(b.Pool().Write(ctx, postgres.WriteKind{}, func(to *postgres.Primary) error {
			b.must(read("write", to.QueryRow(ctx, level)))
			b.must(read("batch", to.After(func(batch *pgx.Batch) { batch.Queue("SELECT 1") }, nil).QueryRow(ctx, level)))
			return pgx.BeginFunc(ctx, to, func(tx pgx.Tx) error { return read("transaction", tx.QueryRow(ctx, level)) })
		}))
		b.must(b.Pool().Rehearse(ctx, postgres.WriteKind{}, func(conns *postgres.RehearsedConns) error {
			batch := conns.Batch()
			answer := postgres.Enqueue(batch, func(ctx context.Context, on db.DBTX) (struct{}, error) {
				return struct{}{}, read("dry run", on.QueryRow(ctx, level))
			})
			b.must(batch.Send(ctx))
			_, err := answer(ctx)
			return errors.Join(err, batch.Close())
		}))
		_, err := postgres.OnPrimary(ctx, b.Pool(), func(conn *postgres.Conn) (struct{}, error) {
			defer conn.Release()
			return struct{}{}, read("read", conn.QueryRow(ctx, level))
		})
		b.must(err)
		for _, of := range []string{"write", "batch", "transaction", "dry run", "read"} {
			if found[of] != "read committed" {
				t.Errorf("%s: isolation level = %q, want read committed", of, found[of])
			}
		}
	})
}
