-- Everything in this database that OpenStack Placement can store, for an export and for the digests
-- that an import compares. The import and the export read the rows one by one in one read-only
-- snapshot. Scans of whole tables, in the order of their keys, and hash joins for the names. Locks
-- nothing.

-- name: PlacementRowClasses :many
SELECT class.id, class.name, class.created_at, class.updated_at FROM resource_classes AS class ORDER BY class.id;

-- name: PlacementRowTraits :many
SELECT trait.id, trait.name, trait.created_at, trait.updated_at FROM traits AS trait ORDER BY trait.id;

-- name: PlacementRowAggregates :many
SELECT aggregate.id, aggregate.uuid, aggregate.created_at FROM aggregates AS aggregate ORDER BY aggregate.id;

-- name: PlacementRowProjects :many
SELECT project.id, project.external_id, project.created_at FROM projects AS project ORDER BY project.id;

-- name: PlacementRowUsers :many
SELECT owner.id, owner.external_id, owner.created_at FROM users AS owner ORDER BY owner.id;

-- name: PlacementRowConsumerTypes :many
SELECT type.id, type.name, type.created_at FROM consumer_types AS type ORDER BY type.id;

-- Parents before children.
-- name: PlacementRowProviders :many
WITH RECURSIVE in_tree AS (
    SELECT provider.id, 0 AS depth FROM resource_providers AS provider WHERE provider.parent_id IS NULL
    UNION ALL
    SELECT child.id, in_tree.depth + 1 FROM in_tree JOIN resource_providers AS child ON child.parent_id = in_tree.id
)
SELECT provider.id, provider.uuid, provider.name, generation_row.generation, provider.root_id, provider.parent_id,
    provider.created_at, generation_row.updated_at, root.uuid AS root_uuid, parent.uuid AS parent_uuid
FROM in_tree
JOIN resource_providers AS provider ON provider.id = in_tree.id
JOIN provider_generations AS generation_row ON generation_row.provider_id = provider.id
JOIN resource_providers AS root ON root.id = provider.root_id
LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
ORDER BY in_tree.depth, provider.id;

-- name: PlacementRowProviderTraits :many
SELECT provider_trait.provider_id, provider_trait.trait_id, provider.uuid AS provider_uuid, trait.name AS trait_name
FROM provider_traits AS provider_trait
JOIN resource_providers AS provider ON provider.id = provider_trait.provider_id
JOIN traits AS trait ON trait.id = provider_trait.trait_id
ORDER BY provider_trait.provider_id, provider_trait.trait_id;

-- name: PlacementRowProviderAggregates :many
SELECT member.provider_id, member.aggregate_id, provider.uuid AS provider_uuid, aggregate.uuid AS aggregate_uuid
FROM provider_aggregates AS member
JOIN resource_providers AS provider ON provider.id = member.provider_id
JOIN aggregates AS aggregate ON aggregate.id = member.aggregate_id
ORDER BY member.provider_id, member.aggregate_id;

-- name: PlacementRowInventories :many
SELECT inventory.provider_id, inventory.class_id, inventory.total::int AS total, inventory.reserved::int AS reserved,
    inventory.min_unit::int AS min_unit, inventory.max_unit::int AS max_unit, inventory.step_size::int AS step_size,
    inventory.allocation_ratio, inventory.created_at, inventory.updated_at,
    inventory.used, provider.uuid AS provider_uuid, class.name AS class_name
FROM inventories AS inventory
JOIN resource_providers AS provider ON provider.id = inventory.provider_id
JOIN resource_classes AS class ON class.id = inventory.class_id
ORDER BY inventory.provider_id, inventory.class_id;

-- name: PlacementRowConsumers :many
SELECT consumer.id, consumer.uuid, consumer.project_id, consumer.user_id, consumer.generation, consumer.consumer_type_id,
    consumer.created_at, consumer.updated_at,
    project.external_id AS project, owner.external_id AS owner, COALESCE(type.name, '')::text AS type_name
FROM consumers AS consumer
JOIN projects AS project ON project.id = consumer.project_id
JOIN users AS owner ON owner.id = consumer.user_id
LEFT JOIN consumer_types AS type ON type.id = consumer.consumer_type_id
ORDER BY consumer.id;

-- name: PlacementRowAllocations :many
SELECT allocation.id, allocation.provider_id, consumer.uuid AS consumer_uuid, allocation.class_id, allocation.used,
    allocation.created_at, provider.uuid AS provider_uuid, class.name AS class_name
FROM allocations AS allocation
JOIN consumers AS consumer ON consumer.id = allocation.consumer_id
JOIN resource_providers AS provider ON provider.id = allocation.provider_id
JOIN resource_classes AS class ON class.id = allocation.class_id
ORDER BY allocation.id;

-- Returns the tables with rows that OpenStack Placement cannot store.
-- name: ExportUnsupported :many
SELECT counted.name::text AS name, counted.number::bigint AS number
FROM (
    SELECT 'nodes' AS name, count(*) AS number FROM nodes
    UNION ALL SELECT 'node_traits', count(*) FROM node_traits
    UNION ALL SELECT 'ports', count(*) FROM ports
    UNION ALL SELECT 'node_allocations', count(*) FROM node_allocations
    UNION ALL SELECT 'conductors', count(*) FROM conductors
    UNION ALL SELECT 'leases', count(*) FROM leases
) AS counted
WHERE counted.number > 0
ORDER BY counted.name;
