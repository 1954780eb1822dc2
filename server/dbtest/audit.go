package dbtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// contradictions finds what must never be in a database between two
// transactions, one sentence a row.
const contradictions = `
WITH RECURSIVE upward AS (
	SELECT provider.id, provider.id AS ancestor, provider.parent_id FROM resource_providers AS provider
	UNION ALL  -- CYCLE ends it where a loop of parents would not
	SELECT below.id, above.id, above.parent_id
	FROM upward AS below JOIN resource_providers AS above ON above.id = below.parent_id
) CYCLE ancestor SET is_loop USING path,
topmost AS (
	SELECT upward.id, upward.ancestor FROM upward WHERE upward.parent_id IS NULL
)
SELECT format('provider %s is below itself', upward.id) FROM upward WHERE upward.is_loop
UNION ALL
SELECT format('provider %s has root %s, not %s', provider.id, provider.root_id, topmost.ancestor)
FROM resource_providers AS provider JOIN topmost USING (id)
WHERE provider.root_id <> topmost.ancestor
UNION ALL
SELECT format('inventory of class %s on provider %s has root %s, not %s',
	inventory.class_id, inventory.provider_id, inventory.root_id, topmost.ancestor)
FROM inventories AS inventory JOIN topmost ON topmost.id = inventory.provider_id
WHERE inventory.root_id <> topmost.ancestor
UNION ALL
SELECT format('provider %s has copies of traits %s and aggregates %s that are not the originals',
	provider.id, provider.trait_ids, provider.aggregate_ids)
FROM resource_providers AS provider
WHERE provider.trait_ids <> ARRAY(
		SELECT present.trait_id FROM provider_traits AS present
		WHERE present.provider_id = provider.id ORDER BY present.trait_id)
	OR provider.aggregate_ids <> ARRAY(
		SELECT member.aggregate_id FROM provider_aggregates AS member
		WHERE member.provider_id = provider.id ORDER BY member.aggregate_id)
UNION ALL
SELECT format('provider %s is in aggregate %s with sharing %s', member.provider_id, member.aggregate_id, member.sharing)
FROM provider_aggregates AS member
WHERE member.sharing <> EXISTS (
	SELECT FROM provider_traits AS present JOIN traits AS trait ON trait.id = present.trait_id
	WHERE present.provider_id = member.provider_id AND trait.name = 'MISC_SHARES_VIA_AGGREGATE')
UNION ALL
SELECT format('provider %s has no generation', provider.id)
FROM resource_providers AS provider
WHERE NOT EXISTS (SELECT FROM provider_generations AS held WHERE held.provider_id = provider.id)
UNION ALL
SELECT format('inventory of class %s on provider %s says that %s is used, and allocations say %s',
	inventory.class_id, inventory.provider_id, inventory.used, taken.used)
FROM inventories AS inventory
CROSS JOIN LATERAL (
	SELECT coalesce(sum(allocation.used), 0) AS used FROM allocations AS allocation
	WHERE allocation.provider_id = inventory.provider_id AND allocation.class_id = inventory.class_id
) AS taken
WHERE inventory.used <> taken.used
UNION ALL
SELECT format('consumer %s has no allocations', consumer.id) FROM consumers AS consumer
WHERE NOT EXISTS (SELECT FROM allocations AS allocation WHERE allocation.consumer_id = consumer.id)
UNION ALL
SELECT format('consumer %s has generation %s', consumer.id, consumer.generation)
FROM consumers AS consumer WHERE consumer.generation < 1
UNION ALL
SELECT format('node %s has instance %s, and allocation %s', node.id, coalesce(node.instance_uuid::text, 'none'), allocation.uuid)
FROM node_allocations AS allocation JOIN nodes AS node ON node.id = allocation.node_id
WHERE node.instance_uuid IS DISTINCT FROM allocation.uuid
UNION ALL
SELECT format('node %s has %s traits', present.node_id, count(*))
FROM node_traits AS present GROUP BY present.node_id HAVING count(*) > 50`

// Audit fails the test for everything in the database that contradicts itself:
// sums of allocations, consumers without any, roots that are not the topmost
// ancestor, nodes that are not those of their allocations.
func Audit(t testing.TB, db *DB) {
	t.Helper()
	// Also called at the end of a test, when its own context is over.
	rows, err := db.Pool.Query(context.WithoutCancel(t.Context()), contradictions)
	if err == nil {
		var found []string
		found, err = pgx.CollectRows(rows, pgx.RowTo[string])
		for _, sentence := range found {
			t.Errorf("audit: %s", sentence)
		}
	}
	if err != nil {
		t.Errorf("audit: %v", err)
	}
}

// guards make the database refuse a generation that falls, and a change of a node
// or port that keeps its revision: a write that tried would fail, however short the
// moment.
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
CREATE TRIGGER consumers_fall BEFORE UPDATE ON consumers
	FOR EACH ROW WHEN (NEW.generation <= OLD.generation) EXECUTE FUNCTION refuse_falling_generation();`

// Guard makes writes fail that let a generation fall or keep a revision, and audits
// the database at the end of the test.
func Guard(t testing.TB, db *DB) {
	t.Helper()
	if _, err := db.Pool.Exec(t.Context(), guards); err != nil {
		t.Fatalf("guard the generations: %v", err)
	}
	t.Cleanup(func() { Audit(t, db) })
}
