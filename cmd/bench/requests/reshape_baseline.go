package requests

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/berthd/berth/cmd/bench/rig"
)

// baselineTree is what newUncheckedReshape moves: the same shape as a reshapeTree,
// with ids, because the baseline looks up nothing.
type baselineTree struct {
	root, left, right int64
	consumers         []int64
	down              bool
}

// newUncheckedReshape writes the rows that a reshape writes, in one statement.
func (p *benchEnv) newUncheckedReshape() rig.RequestFunc {
	var mutex sync.Mutex
	trees := map[int]*baselineTree{}
	return func(ctx context.Context, client int, _ int64) error {
		mutex.Lock()
		tree := trees[client]
		mutex.Unlock()
		if tree == nil {
			made, err := p.makeTree(ctx, reshapeConsumers)
			if err != nil {
				return err
			}
			if tree, err = p.lookUp(ctx, made); err != nil {
				return err
			}
			mutex.Lock()
			trees[client] = tree
			mutex.Unlock()
		}
		return p.moveUnchecked(ctx, tree)
	}
}

func (p *benchEnv) lookUp(ctx context.Context, made *reshapeTree) (*baselineTree, error) {
	tree := &baselineTree{}
	for uuid, into := range map[string]*int64{made.root: &tree.root, made.left: &tree.left, made.right: &tree.right} {
		if err := p.pool.QueryRow(ctx, "SELECT id FROM resource_providers WHERE uuid = $1", uuid).Scan(into); err != nil {
			return nil, err
		}
	}
	return tree, p.pool.QueryRow(ctx, "SELECT array_agg(id ORDER BY id) FROM consumers WHERE uuid = ANY ($1::uuid[])",
		made.consumers).Scan(&tree.consumers)
}

// moveUnchecked moves all allocations from the old providers to the new ones. The
// foreign key from allocations to inventories is why the old inventories go in a
// statement of their own: a CTE would delete them before the new ones are seen.
func (p *benchEnv) moveUnchecked(ctx context.Context, tree *baselineTree) error {
	from, to := []int64{tree.root}, []int64{tree.left, tree.right}
	if tree.down {
		from, to = to, from
	}
	tree.down = !tree.down
	const statement = `
WITH added AS (
    INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
    SELECT target.id, class.id, $3, 1000, 0, 1, 2147483647, 1, 1, cardinality($4::bigint[]) / cardinality($2::bigint[])
    FROM unnest($2::bigint[]) AS target (id), unnest($5::int[]) AS class (id)
    RETURNING provider_id
), bumped AS (
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY ($1::bigint[] || $2::bigint[])
), touched AS (
    UPDATE consumers SET generation = generation + 1, updated_at = now() WHERE id = ANY ($4::bigint[])
), gone AS (
    DELETE FROM allocations WHERE consumer_id = ANY ($4::bigint[]) AND provider_id = ANY ($1::bigint[])
), dropped AS (
    DELETE FROM inventories WHERE provider_id = ANY ($1::bigint[])
)
INSERT INTO allocations (consumer_id, provider_id, class_id, used)
SELECT consumer.id, ($2::bigint[])[1 + consumer.place % cardinality($2::bigint[])], class.id, 1
FROM unnest($4::bigint[]) WITH ORDINALITY AS consumer (id, place), unnest($5::int[]) AS class (id)
WHERE (SELECT count(*) FROM added) > 0`
	_, err := p.pool.Exec(ctx, statement, from, to, tree.root, tree.consumers, slices.Sorted(maps.Values(reshaped)))
	return err
}
