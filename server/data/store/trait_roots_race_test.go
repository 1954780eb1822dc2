package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// rootCopyRace is an interleaving of a re-parenting with a transaction that inserts traits or memberships: first runs, and
// then waits until second waits for one of its locks.
type rootCopyRace struct {
	first  func(b *bundle, in pgx.Tx)
	second func(ctx context.Context, b *bundle) error
}

// The transactions of the interleavings, as statements and as calls of the store.
const (
	reparentChild  = "SELECT provider_update($1, 'b child', true, $2, true)"
	replaceTraits  = "SELECT provider_traits_replace($1, NULL, '{HW_CPU_X86_VMX}')"
	replaceMembers = "SELECT provider_aggregates_replace($1::uuid, NULL, ARRAY[$1::uuid])"
	insertTrait    = "INSERT INTO provider_traits (provider_id, trait_id) SELECT provider.id, trait.id " +
		"FROM resource_providers AS provider, traits AS trait WHERE provider.uuid = $1 AND trait.name = 'HW_CPU_X86_VMX'"
)

func execute(statement string, arguments ...any) func(*bundle, pgx.Tx) {
	return func(b *bundle, in pgx.Tx) {
		_, err := in.Exec(b.t.Context(), statement, arguments...)
		b.must(err)
	}
}

func executeAlone(statement string, arguments ...any) func(context.Context, *bundle) error {
	return func(ctx context.Context, b *bundle) error {
		_, err := b.db.Pool.Exec(ctx, statement, arguments...)
		return err
	}
}

// rootCopyRaces returns all orders of a re-parenting and a write of the same provider.
func rootCopyRaces() map[string]rootCopyRace {
	moved, target := named("b child"), named("c other")
	reparent := func(ctx context.Context, b *bundle) error { return moveUnder(ctx, b, "b child", "c other") }
	return map[string]rootCopyRace{
		"traits, then the parent": {first: execute(replaceTraits, moved), second: reparent},
		"the parent, then traits": {
			first: execute(reparentChild, moved, target),
			second: func(ctx context.Context, b *bundle) error {
				_, _, err := b.ProviderTraitReplace(ctx, moved, b.generation(moved), []string{"HW_CPU_X86_VMX"})
				return err
			},
		},
		"aggregates, then the parent": {first: execute(replaceMembers, moved), second: reparent},
		"the parent, then aggregates": {
			first: execute(reparentChild, moved, target),
			second: func(ctx context.Context, b *bundle) error {
				_, err := b.ProviderAggregateReplace(ctx, moved, nil, []uuid.UUID{moved})
				return err
			},
		},
		"an INSERT, then the parent": {first: execute(insertTrait, moved), second: reparent},
		"the parent, then an INSERT": {first: execute(reparentChild, moved, target), second: executeAlone(insertTrait, moved)},
	}
}

// run runs an interleaving in an empty database, and returns the inconsistencies afterwards and the copies of the root.
func (r rootCopyRace) run(t *testing.T, db *dbtest.DB, prepare func(b *bundle)) (found, copies []string) {
	t.Helper()
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	b := &bundle{Store: opened, t: t, db: db}
	host := b.provider("a host", nil, nil)
	b.provider("b child", &host, nil)
	b.provider("c other", nil, nil)
	prepare(b)
	in := b.outside()
	r.first(b, in)
	outcomes, wait := b.start([]func(context.Context) error{func(ctx context.Context) error { return r.second(ctx, b) }})
	b.awaitWaiters(1)
	b.must(in.Commit(t.Context()))
	wait()
	if outcomes[0] != store.Rule("") {
		t.Errorf("outcome = %q, want success", outcomes[0])
	}
	found, err = dbtest.Inconsistencies(t.Context(), b.db)
	b.must(err)
	return found, b.texts(`SELECT root.name FROM (
		SELECT root_id FROM provider_traits UNION ALL SELECT root_id FROM provider_aggregates) AS copy
		JOIN resource_providers AS root ON root.id = copy.root_id`)
}

// TestLocks_ReparentDuringTraitWrite_CopiesNewRoot: each of the two waits for the other one's lock and then reads or writes
// the root that the other one left.
func TestLocks_ReparentDuringTraitWrite_CopiesNewRoot(t *testing.T) {
	t.Parallel()
	for name, race := range rootCopyRaces() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, copies := race.run(t, dbtest.NewWithInvariantTriggers(t), func(*bundle) {})
			if len(found) > 0 || len(copies) != 1 || copies[0] != "c other" {
				t.Errorf("roots = %q, want %q; inconsistencies: %q", copies, "c other", found)
			}
		})
	}
}

// TestLocks_RootCopiedBeforeLock_ConsistencyCheckFindsIt proves that the interleavings above and the consistency check find
// faults: each function copies the root before it waits, or does not copy it.
func TestLocks_RootCopiedBeforeLock_ConsistencyCheckFindsIt(t *testing.T) {
	t.Parallel()
	const early = "v_early bigint := (SELECT early.root_id FROM resource_providers AS early WHERE early.uuid = p_provider); v_locked record;"
	for _, fault := range []struct{ race, function, old, new string }{
		{"traits, then the parent", "provider_reparent", "provider_traits SET root_id = v_root WHERE", "provider_traits SET root_id = v_root WHERE false AND"},
		{"aggregates, then the parent", "provider_reparent", "provider_aggregates SET root_id = v_root WHERE", "provider_aggregates SET root_id = v_root WHERE false AND"},
		{"the parent, then traits", "provider_traits_replace", "requested.id, provider.root_id", "requested.id, v_early"},
		{"the parent, then aggregates", "provider_aggregates_replace", "aggregate.id, provider.root_id", "aggregate.id, v_early"},
		{"the parent, then an INSERT", "provider_copy_root", " FOR NO KEY UPDATE", ""},
	} {
		t.Run(fault.race, func(t *testing.T) {
			t.Parallel()
			found, _ := rootCopyRaces()[fault.race].run(t, dbtest.New(t), func(b *bundle) {
				text := b.texts("SELECT pg_get_functiondef($1::regproc)", fault.function)[0]
				planted := strings.Replace(text, fault.old, fault.new, 1)
				if planted == text {
					t.Fatalf("%s does not contain %q", fault.function, fault.old)
				}
				_, err := b.db.Pool.Exec(t.Context(), strings.Replace(planted, "v_locked record;", early, 1))
				b.must(err)
			})
			if len(found) != 1 || !strings.Contains(found[0], "root") {
				t.Errorf("inconsistencies = %q, want one wrong root", found)
			}
		})
	}
}
