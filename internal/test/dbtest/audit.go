package dbtest

import (
	"context"
	"math"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/audit"
)

// Inconsistencies are what must never be in a database between two transactions, one
// sentence each: what `berth db check` would find.
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

// Audit fails the test for everything in the database that contradicts itself:
// sums of allocations, consumers without any, roots that are not the topmost
// ancestor, nodes that are not those of their allocations.
func Audit(t testing.TB, db *DB) {
	t.Helper()
	// Also called at the end of a test, when its own context is over.
	found, err := Inconsistencies(context.WithoutCancel(t.Context()), db)
	for _, sentence := range found {
		t.Errorf("audit: %s", sentence)
	}
	if err != nil {
		t.Errorf("audit: %v", err)
	}
}

// guards make the database refuse a generation that falls, a change of a node or
// port that keeps its revision, and an inventory of which more is used than before
// though it is full: a write that tried would fail, however short the moment.
const guards = `
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
	FOR EACH ROW WHEN (NEW.generation <= OLD.generation) EXECUTE FUNCTION refuse_falling_generation();`

// NewWithInvariantTriggers is New with a Guard.
func NewWithInvariantTriggers(t testing.TB) *DB {
	t.Helper()
	db := New(t)
	AddInvariantTriggers(t, db)
	return db
}

// AddInvariantTriggers makes writes fail that let a generation fall, keep a revision or fill an
// inventory beyond its capacity, and audits the database at the end of the test.
func AddInvariantTriggers(t testing.TB, db *DB) {
	t.Helper()
	if _, err := db.Pool.Exec(t.Context(), guards); err != nil {
		t.Fatalf("guard the generations: %v", err)
	}
	t.Cleanup(func() { Audit(t, db) })
}
