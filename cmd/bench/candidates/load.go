package candidates

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// loader fills an empty database with trees of a shape, in bulk. The providers of
// a tree have consecutive ids, as if the trees had been created one by one. What
// follows from these rows is left to the triggers, and nothing makes statistics.
type loader struct {
	conn  *pgx.Conn
	shape shape
	trees int
}

func (l loader) load(ctx context.Context) error {
	if err := checkKeys(ctx, l.conn, false); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		l.names, l.providers, l.inventories, l.traits, l.sharing, l.aggregates, l.ranks, l.addRareTraits,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return checkKeys(ctx, l.conn, true)
}

// checkKeys says whether foreign keys are checked. That takes half of the time of
// loading rows which are right because of how they are made. The triggers of the
// schema run in any case.
func checkKeys(ctx context.Context, conn *pgx.Conn, on bool) error {
	action := "DISABLE TRIGGER ALL, ENABLE TRIGGER USER"
	if on {
		action = "ENABLE TRIGGER ALL"
	}
	rows, err := conn.Query(ctx, "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := conn.Exec(ctx, "ALTER TABLE "+table+" "+action); err != nil {
			return err
		}
	}
	return nil
}

// run executes a statement.
func (l loader) run(ctx context.Context, statement string, arguments ...any) error {
	if _, err := l.conn.Exec(ctx, statement, arguments...); err != nil {
		return fmt.Errorf("%.70s: %w", statement, err)
	}
	return nil
}

// names makes the classes and traits that no standard list has, in the same order, and
// so with the same ids, in every database.
func (l loader) names(ctx context.Context) error {
	var classes, traits []string
	for _, member := range l.shape.members {
		for _, one := range member.has {
			classes = append(classes, one.class)
		}
		traits = append(traits, member.traits...)
	}
	traits = append(traits, needle, needleBelow, usedNeedle, lowerHalf, upperHalf)
	if err := l.run(ctx, "SET work_mem = '256MB'"); err != nil {
		return err
	}
	if err := l.run(ctx, "INSERT INTO resource_classes (name) SELECT DISTINCT unnest($1::text[]) ORDER BY 1 ON CONFLICT DO NOTHING", classes); err != nil {
		return err
	}
	return l.run(ctx, "INSERT INTO traits (name) SELECT DISTINCT unnest($1::text[]) ORDER BY 1 ON CONFLICT DO NOTHING", traits)
}

func (l loader) providers(ctx context.Context) error {
	var parents []int32 // places from 1; 0: none
	for place, member := range l.shape.members {
		if place == 0 {
			parents = append(parents, 0)
		} else {
			parents = append(parents, int32(member.parent)+1)
		}
	}
	if err := l.run(ctx, `
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT base + place, md5('provider ' || base + place)::uuid, 'host-' || tree || CASE WHEN place = 1 THEN '' ELSE '-' || place END,
    base + 1, base + nullif(parent, 0)
FROM generate_series(1, $1::bigint) AS tree,
    LATERAL (SELECT (tree - 1) * $2::bigint AS base) AS start,
    unnest($3::int[]) WITH ORDINALITY AS member (parent, place)
ORDER BY 1`, l.trees, len(l.shape.members), parents); err != nil {
		return err
	}
	if err := l.run(ctx, "SELECT setval(pg_get_serial_sequence('resource_providers', 'id'), max(id)) FROM resource_providers"); err != nil {
		return err
	}
	return l.run(ctx, "INSERT INTO provider_generations (provider_id, updated_at) SELECT id, now() FROM resource_providers")
}

func (l loader) inventories(ctx context.Context) error {
	var places, totals []int32
	var classes []string
	for place, member := range l.shape.members {
		for _, one := range member.has {
			places, classes, totals = append(places, int32(place)+1), append(classes, one.class), append(totals, one.total)
		}
	}
	return l.run(ctx, `
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
SELECT (tree - 1) * $2::bigint + item.place, class.id, (tree - 1) * $2::bigint + 1, item.total, 0, 1, item.total, 1, 1
FROM generate_series(1, $1::bigint) AS tree,
    unnest($3::int[], $4::text[], $5::int[]) AS item (place, name, total)
    JOIN resource_classes AS class ON class.name = item.name
ORDER BY 1, 2`, l.trees, len(l.shape.members), places, classes, totals)
}

func (l loader) traits(ctx context.Context) error {
	var places []int32
	var names []string
	for place, member := range l.shape.members {
		for _, name := range member.traits {
			places, names = append(places, int32(place)+1), append(names, name)
		}
	}
	return l.run(ctx, `
INSERT INTO provider_traits (provider_id, trait_id, root_id)
SELECT (tree - 1) * $2::bigint + item.place, trait.id, (tree - 1) * $2::bigint + 1
FROM generate_series(1, $1::bigint) AS tree,
    unnest($3::int[], $4::text[]) AS item (place, name)
    JOIN traits AS trait ON trait.name = item.name
UNION ALL
SELECT (tree - 1) * $2::bigint + 1, half.id, (tree - 1) * $2::bigint + 1
FROM generate_series(1, $1::bigint) AS tree
    JOIN traits AS half ON half.name = CASE WHEN tree % 2 = 0 THEN $5 ELSE $6 END
ORDER BY 1, 2`, l.trees, len(l.shape.members), places, names, lowerHalf, upperHalf)
}

// aggregates puts roots together in the order of their ids, and a storage provider
// to the hosts that it is for.
func (l loader) aggregates(ctx context.Context) error {
	for _, size := range l.shape.aggregates {
		if err := l.run(ctx, `
INSERT INTO aggregates (uuid)
SELECT md5('aggregate ' || $2::bigint || '/' || number)::uuid FROM generate_series(0, ($1::bigint - 1) / $2::bigint) AS number ORDER BY number`,
			l.trees, size); err != nil {
			return err
		}
	}
	// One statement, since the triggers run once for each.
	return l.run(ctx, `
INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id)
SELECT (tree - 1) * $2::bigint + 1, aggregate.id, (tree - 1) * $2::bigint + 1
FROM generate_series(1, $1::bigint) AS tree, unnest($3::bigint[]) AS size
    JOIN aggregates AS aggregate ON true
WHERE aggregate.uuid = md5('aggregate ' || size || '/' || (tree - 1) / size)::uuid
UNION ALL
SELECT storage.id, aggregate.id, storage.id
FROM resource_providers AS storage
    JOIN aggregates AS aggregate ON aggregate.uuid = md5('aggregate ' || ($3::bigint[])[1] || '/' || substr(storage.name, 9))::uuid
WHERE storage.name LIKE 'storage-%'
ORDER BY 1, 2`, l.trees, len(l.shape.members), l.shape.aggregates)
}

// sharing makes a storage provider for each aggregate of the first size. They come
// after all trees; aggregates puts them where they belong.
func (l loader) sharing(ctx context.Context) error {
	if !l.shape.storage {
		return nil
	}
	if err := l.run(ctx, `
WITH storage AS (
    SELECT $1::bigint * $2::bigint + number + 1 AS id, number
    FROM generate_series(0, ($1::bigint - 1) / $3::bigint) AS number
), provider AS (
    INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
    SELECT id, md5('provider ' || id)::uuid, 'storage-' || number, id FROM storage
    RETURNING id
), generation AS (
    INSERT INTO provider_generations (provider_id, updated_at) SELECT id, now() FROM storage
), disk AS (
    INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
    SELECT storage.id, class.id, storage.id, 2000000000, 0, 1, 2000000000, 1, 1
    FROM storage JOIN resource_classes AS class ON class.name = 'DISK_GB'
)
SELECT setval(pg_get_serial_sequence('resource_providers', 'id'), max(id)) FROM provider`,
		l.trees, len(l.shape.members), l.shape.aggregates[0]); err != nil {
		return err
	}
	return l.run(ctx, `
INSERT INTO provider_traits (provider_id, trait_id)
SELECT storage.id, trait.id FROM resource_providers AS storage JOIN traits AS trait ON trait.name = $1
WHERE storage.name LIKE 'storage-%'`, sharing)
}

// ranks puts the trees in an order that has nothing to do with anything else. The
// first are used up first. Storage providers have no rank: they keep room.
func (l loader) ranks(ctx context.Context) error {
	if err := l.run(ctx, "CREATE SCHEMA bench"); err != nil {
		return err
	}
	if err := l.run(ctx, "CREATE TABLE bench.trees (root_id bigint PRIMARY KEY, rank bigint NOT NULL UNIQUE)"); err != nil {
		return err
	}
	return l.run(ctx, `
INSERT INTO bench.trees
SELECT root.id, row_number() OVER (ORDER BY hashint8extended(root.id, 42), root.id)
FROM resource_providers AS root WHERE root.parent_id IS NULL AND root.id <= $1::bigint * $2::bigint`,
		l.trees, len(l.shape.members))
}

// addRareTraits gives the last tree of all, which is never used up, a trait that no other
// has, and one to its second provider if it has several. The root of the first tree, which is used up first, gets another.
func (l loader) addRareTraits(ctx context.Context) error {
	return l.run(ctx, `
INSERT INTO provider_traits (provider_id, trait_id)
SELECT provider.id, trait.id
FROM bench.trees AS tree
    JOIN resource_providers AS provider ON provider.id IN (tree.root_id, tree.root_id + 1) AND provider.root_id = tree.root_id
    JOIN traits AS trait ON trait.name = CASE WHEN provider.id = tree.root_id THEN $2 ELSE $3 END
WHERE tree.rank = $1
UNION ALL
SELECT tree.root_id, trait.id FROM bench.trees AS tree, traits AS trait WHERE tree.rank = 1 AND trait.name = $4`,
		l.trees, needle, needleBelow, usedNeedle)
}
