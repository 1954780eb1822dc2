package dbtest

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/data/audit"
)

// Inconsistencies returns one sentence for each inconsistency that `berth db check` finds.
func Inconsistencies(ctx context.Context, db *DB) (sentences []string, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, db.Pool, options, func(tx pgx.Tx) error {
		results, err := audit.Run(ctx, tx, math.MaxInt, nil)
		for _, result := range results {
			for _, finding := range result.Findings {
				sentences = append(sentences, finding.Sentence)
			}
		}
		return err
	})
	return sentences, err
}

// Audit fails the test for each inconsistency in the database: wrong sums of allocations, consumers
// without allocations, wrong roots, and nodes that differ from their node allocations.
func Audit(t testing.TB, db *DB) {
	t.Helper()
	// The context of the test has ended if Audit is called during its cleanup.
	found, err := Inconsistencies(context.WithoutCancel(t.Context()), db)
	for _, sentence := range found {
		t.Errorf("audit: %s", sentence)
	}
	if err != nil {
		t.Errorf("audit: %v", err)
	}
}

// invariantTriggers are triggers that reject writes that decrease a generation, change a node or
// port without a new revision, or increase the usage of an inventory beyond its capacity. They also
// find violations that a later statement would repair.
const invariantTriggers = `
CREATE FUNCTION refuse_falling_generation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'generation in % falls from % to %', TG_TABLE_NAME, OLD.generation, NEW.generation;
END
$$;
CREATE TRIGGER provider_generations_fall BEFORE UPDATE ON provider_generations
	FOR EACH ROW WHEN (NEW.generation < OLD.generation) EXECUTE FUNCTION refuse_falling_generation();
CREATE FUNCTION refuse_same_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'revision in % stays though % becomes %', TG_TABLE_NAME, OLD, NEW;
END
$$;
CREATE TRIGGER nodes_stay BEFORE UPDATE ON nodes
	FOR EACH ROW WHEN (NEW.revision <= OLD.revision) EXECUTE FUNCTION refuse_same_revision();
CREATE TRIGGER ports_stay BEFORE UPDATE ON ports
	FOR EACH ROW WHEN (NEW.revision <= OLD.revision) EXECUTE FUNCTION refuse_same_revision();
CREATE FUNCTION refuse_overfull() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'inventory of % on % is filled beyond its capacity: % becomes %', NEW.class_id, NEW.provider_id, OLD, NEW;
END
$$;
CREATE TRIGGER inventories_overfull BEFORE UPDATE ON inventories FOR EACH ROW
	WHEN (NEW.used > OLD.used AND NEW.used - OLD.used > (NEW.total - NEW.reserved) * NEW.allocation_ratio - OLD.used)
	EXECUTE FUNCTION refuse_overfull();
CREATE TRIGGER consumers_fall BEFORE UPDATE ON consumers
	FOR EACH ROW WHEN (NEW.generation <= OLD.generation AND NEW.leased = OLD.leased) EXECUTE FUNCTION refuse_falling_generation();`

// NewWithInvariantTriggers is New with AddInvariantTriggers, after further statements.
func NewWithInvariantTriggers(t testing.TB, statements ...string) *DB {
	t.Helper()
	db := NewLoaded(t, strings.Join(append(slices.Clone(statements), invariantTriggers), ";\n"))
	t.Cleanup(func() { Audit(t, db) })
	return db
}

// AddInvariantTriggers adds triggers that reject writes that decrease a generation, keep a revision
// or exceed a capacity. It audits the database at the end of the test.
func AddInvariantTriggers(t testing.TB, db *DB) {
	t.Helper()
	if _, err := db.Pool.Exec(t.Context(), invariantTriggers); err != nil {
		t.Fatalf("cannot add the invariant triggers: %v", err)
	}
	t.Cleanup(func() { Audit(t, db) })
}
