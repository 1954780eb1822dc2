package bruteforce_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// consumer is the consumer of all allocations in a deployment.
const consumer = "00000000-0000-4000-8000-000000000001"

// load replaces the contents of the database by a deployment in one round trip, because tests do
// this hundreds of times. It keeps the names of classes, traits and aggregates.
func (b *bundle) load(deployment *bruteforce.Deployment) error {
	batch := &pgx.Batch{}
	for _, table := range []string{
		"allocations", "consumers", "inventories", "provider_traits", "provider_aggregates", "provider_generations", "resource_providers",
	} {
		batch.Queue("DELETE FROM " + table)
	}
	queueNames(batch, deployment)
	queueProviders(batch, deployment)
	queueQualities(batch, deployment)
	queueInventories(batch, deployment)
	return pgx.BeginFunc(b.ctx, b.db.Pool, func(tx pgx.Tx) error { return tx.SendBatch(b.ctx, batch).Close() })
}

// queueNames inserts the names in a deployment or a random query.
func queueNames(batch *pgx.Batch, deployment *bruteforce.Deployment) {
	classes, traits := append([]string{"CUSTOM_GOLD"}, unusedClasses...), slices.Concat(allTraits, unusedTraits)
	for _, provider := range deployment.Providers {
		traits = append(traits, provider.Traits...)
		classes = append(classes, slices.Collect(maps.Keys(provider.Inventories))...)
	}
	isStandard := func(name string) bool { return !strings.HasPrefix(name, "CUSTOM_") }
	const insert = "SELECT DISTINCT unnest($1::text[]) EXCEPT SELECT name FROM "
	batch.Queue("INSERT INTO resource_classes (name) "+insert+"resource_classes", slices.DeleteFunc(classes, isStandard))
	batch.Queue("INSERT INTO traits (name) "+insert+"traits", slices.DeleteFunc(traits, isStandard))
	batch.Queue("INSERT INTO aggregates (uuid) SELECT unnest($1::uuid[]) EXCEPT SELECT uuid FROM aggregates",
		slices.Collect(maps.Keys(deployment.Aggregates)))
	batch.Queue("INSERT INTO projects (external_id) VALUES ('project') ON CONFLICT DO NOTHING")
	batch.Queue("INSERT INTO users (external_id) VALUES ('user') ON CONFLICT DO NOTHING")
	batch.Queue("INSERT INTO consumers (uuid, generation, project_id, user_id) SELECT $1, 1, projects.id, users.id FROM projects, users "+
		"WHERE $2", consumer, slices.ContainsFunc(deployment.Providers, isUsed))
}

func isUsed(provider *bruteforce.Provider) bool { return len(provider.Used) > 0 }

// numberByUUID numbers the providers in another order than that of their trees and that of their UUIDs, so that a parent
// may have a greater ID than its children, and the IDs of trees interleave.
func numberByUUID(deployment *bruteforce.Deployment) {
	byEnd := slices.SortedFunc(slices.Values(deployment.Providers), func(a, b *bruteforce.Provider) int {
		return strings.Compare(a.UUID[24:], b.UUID[24:])
	})
	for i, provider := range byEnd {
		provider.Number = i + 1
	}
}

// queueProviders inserts the providers with their numbers as IDs.
func queueProviders(batch *pgx.Batch, deployment *bruteforce.Deployment) {
	var uuids, names, roots []string
	var numbers []int
	var parents []*string
	for _, provider := range deployment.Providers {
		uuids, names = append(uuids, provider.UUID), append(names, provider.Name)
		roots, numbers = append(roots, deployment.Root(provider).UUID), append(numbers, provider.Number)
		var parent *string
		if provider.Parent != "" {
			parent = &deployment.Named(provider.Parent).UUID
		}
		parents = append(parents, parent)
	}
	batch.Queue(`
WITH given AS (
	SELECT id, uuid, name, root, parent
	FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::bigint[]) AS given (uuid, name, root, parent, id)
)
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
SELECT given.id, given.uuid, given.name, root.id, parent.id
FROM given JOIN given AS root ON root.uuid = given.root LEFT JOIN given AS parent ON parent.uuid = given.parent`,
		uuids, names, roots, parents, numbers)
	batch.Queue("INSERT INTO provider_generations (provider_id, generation, updated_at) SELECT id, 1, now() FROM resource_providers")
}

// pairs are the rows of two columns.
type pairs struct{ left, right []string }

func (p *pairs) add(left, right string) {
	p.left, p.right = append(p.left, left), append(p.right, right)
}

func queueQualities(batch *pgx.Batch, deployment *bruteforce.Deployment) {
	var traits, aggregates pairs
	for _, provider := range deployment.Providers {
		for _, trait := range provider.Traits {
			traits.add(provider.UUID, trait)
		}
		for _, aggregate := range provider.Aggregates {
			aggregates.add(provider.UUID, aggregate)
		}
	}
	batch.Queue(`
INSERT INTO provider_traits (provider_id, trait_id)
SELECT provider.id, trait.id FROM unnest($1::uuid[], $2::text[]) AS given (provider, trait)
JOIN resource_providers AS provider ON provider.uuid = given.provider JOIN traits AS trait ON trait.name = given.trait`,
		traits.left, traits.right)
	batch.Queue(`
INSERT INTO provider_aggregates (provider_id, aggregate_id)
SELECT provider.id, aggregate.id FROM unnest($1::uuid[], $2::uuid[]) AS given (provider, aggregate)
JOIN resource_providers AS provider ON provider.uuid = given.provider JOIN aggregates AS aggregate ON aggregate.uuid = given.aggregate`,
		aggregates.left, aggregates.right)
}

func queueInventories(batch *pgx.Batch, deployment *bruteforce.Deployment) {
	var of pairs
	var total, reserved, least, most, step, used []int64
	var ratios []float64
	for _, provider := range deployment.Providers {
		for class, inventory := range provider.Inventories {
			of.add(provider.UUID, class)
			total, reserved = append(total, inventory.Total), append(reserved, inventory.Reserved)
			least, most = append(least, inventory.MinUnit), append(most, inventory.MaxUnit)
			step, ratios = append(step, inventory.StepSize), append(ratios, inventory.Ratio)
			used = append(used, provider.Used[class])
		}
	}
	batch.Queue(`
INSERT INTO inventories
	(provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
SELECT provider.id, class.id, provider.root_id, given.total, given.reserved, given.min, given.max, given.step, given.ratio, given.used
FROM unnest($1::uuid[], $2::text[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::float8[], $9::bigint[])
	AS given (provider, class, total, reserved, min, max, step, ratio, used)
JOIN resource_providers AS provider ON provider.uuid = given.provider JOIN resource_classes AS class ON class.name = given.class`,
		of.left, of.right, total, reserved, least, most, step, ratios, used)
	batch.Queue("INSERT INTO allocations (consumer_id, provider_id, class_id, used) " +
		"SELECT consumer.id, inventory.provider_id, inventory.class_id, inventory.used " +
		"FROM inventories AS inventory, consumers AS consumer WHERE inventory.used > 0")
}
