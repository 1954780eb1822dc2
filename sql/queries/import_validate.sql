-- Validates the copy of an OpenStack Placement database. Each statement records the anomalies that it
-- finds in import_anomalies and corrects the copy, so that the rest of it can be written. All run in
-- the single transaction of the import and lock no rows of other sessions. They read whole tables with
-- hash joins.

-- Maps classes to ids in Berth: the id of the class with the same name; otherwise the id in the
-- source, if it is free and in the right range; otherwise a new one.
-- name: ImportValidateClasses :exec
WITH named AS (
    SELECT class.id, class.name, existing.id AS existing_id,
        class.name LIKE 'CUSTOM\_%' OR class.id >= 10000 AS custom,
        CASE
            WHEN existing.id IS NOT NULL THEN existing.id
            WHEN class.name LIKE 'CUSTOM\_%' AND class.id < 10000 THEN NULL
            WHEN EXISTS (SELECT FROM resource_classes AS existing WHERE existing.id = class.id) THEN NULL
            ELSE class.id
        END AS reusable_id
    FROM import_staging_resource_classes AS class LEFT JOIN resource_classes AS existing ON existing.name = class.name
), highest AS (
    SELECT greatest(9999, max(all_ids.id)) AS custom, max(all_ids.id) FILTER (WHERE all_ids.id < 10000) AS standard
    FROM (SELECT class.id FROM import_staging_resource_classes AS class UNION ALL SELECT existing.id FROM resource_classes AS existing) AS all_ids
), numbered AS (
    SELECT named.id,
        COALESCE(named.reusable_id, CASE WHEN named.custom THEN highest.custom ELSE highest.standard END
            + row_number() OVER (PARTITION BY named.reusable_id IS NULL, named.custom ORDER BY named.id)) AS class_id
    FROM named CROSS JOIN highest
), mapped AS (
    UPDATE import_staging_resource_classes AS class SET class_id = numbered.class_id
    FROM numbered WHERE numbered.id = class.id
)
INSERT INTO import_anomalies (kind, source_row)
SELECT anomaly.kind, anomaly.source_row
FROM (
    SELECT 'class-number' AS kind, named.id,
        jsonb_build_object('name', named.name, 'id', named.id, 'id_here', numbered.class_id) AS source_row
    FROM named JOIN numbered ON numbered.id = named.id WHERE numbered.class_id <> named.id
    UNION ALL
    SELECT 'class-name', named.id, jsonb_build_object('id', named.id, 'name', named.name)
    FROM named WHERE named.name !~ '^[A-Z0-9_]+$'
    UNION ALL
    SELECT 'class-standard', named.id, jsonb_build_object('id', named.id, 'name', named.name)
    FROM named WHERE named.existing_id IS NULL AND named.name NOT LIKE 'CUSTOM\_%'
    UNION ALL
    SELECT 'class-case', min(named.id), jsonb_build_object('names', jsonb_agg(named.name ORDER BY named.id))
    FROM named GROUP BY lower(named.name) HAVING count(*) > 1
) AS anomaly
ORDER BY anomaly.kind, anomaly.id;

-- name: ImportValidateTraits :exec
WITH orphans AS (
    DELETE FROM import_staging_provider_traits AS provider_trait
    WHERE NOT EXISTS (SELECT FROM import_staging_resource_providers AS provider WHERE provider.id = provider_trait.resource_provider_id)
       OR NOT EXISTS (SELECT FROM import_staging_traits AS trait WHERE trait.id = provider_trait.trait_id)
    RETURNING provider_trait.resource_provider_id, provider_trait.trait_id
)
INSERT INTO import_anomalies (kind, source_row)
SELECT anomaly.kind, anomaly.source_row
FROM (
    SELECT 'trait-name' AS kind, trait.id, jsonb_build_object('id', trait.id, 'name', trait.name) AS source_row
    FROM import_staging_traits AS trait WHERE trait.name !~ '^[A-Z0-9_]+$'
    UNION ALL
    SELECT 'trait-standard', trait.id, jsonb_build_object('id', trait.id, 'name', trait.name)
    FROM import_staging_traits AS trait
    WHERE trait.name NOT LIKE 'CUSTOM\_%' AND NOT EXISTS (SELECT FROM traits AS existing WHERE existing.name = trait.name)
    UNION ALL
    SELECT 'trait-case', min(trait.id), jsonb_build_object('names', jsonb_agg(trait.name ORDER BY trait.id))
    FROM import_staging_traits AS trait GROUP BY lower(trait.name) HAVING count(*) > 1
    UNION ALL
    SELECT 'provider-trait-orphan', orphans.resource_provider_id, jsonb_build_object(
        'resource_provider_id', orphans.resource_provider_id, 'trait_id', orphans.trait_id,
        'provider', provider.uuid, 'trait', trait.name)
    FROM orphans
    LEFT JOIN import_staging_resource_providers AS provider ON provider.id = orphans.resource_provider_id
    LEFT JOIN import_staging_traits AS trait ON trait.id = orphans.trait_id
) AS anomaly
ORDER BY anomaly.kind, anomaly.id;

-- Merges aggregates whose UUIDs differ only in their form into one: memberships follow the UUID.
-- name: ImportValidateAggregates :exec
WITH nameless AS (
    DELETE FROM import_staging_aggregates AS aggregate WHERE aggregate.uuid IS NULL
    RETURNING aggregate.id, aggregate.created_at
), orphans AS (
    DELETE FROM import_staging_provider_aggregates AS member
    WHERE NOT EXISTS (SELECT FROM import_staging_resource_providers AS provider WHERE provider.id = member.resource_provider_id)
       OR NOT EXISTS (SELECT FROM import_staging_aggregates AS aggregate WHERE aggregate.id = member.aggregate_id AND aggregate.uuid IS NOT NULL)
    RETURNING member.resource_provider_id, member.aggregate_id
)
INSERT INTO import_anomalies (kind, source_row)
SELECT anomaly.kind, anomaly.source_row
FROM (
    SELECT 'aggregate-uuid-missing' AS kind, nameless.id,
        jsonb_build_object('id', nameless.id, 'created_at', nameless.created_at) AS source_row
    FROM nameless
    UNION ALL
    SELECT CASE WHEN replace(aggregate.uuid::text, '-', '') = lower(regexp_replace(aggregate.original_text, 'urn:|uuid:|[{}-]', '', 'g'))
            THEN 'aggregate-uuid-spelling' ELSE 'aggregate-uuid-invalid' END,
        aggregate.id, jsonb_build_object('id', aggregate.id, 'uuid', aggregate.original_text, 'uuid_here', aggregate.uuid)
    FROM import_staging_aggregates AS aggregate WHERE aggregate.original_text IS NOT NULL
    UNION ALL
    SELECT 'aggregate-uuid-twice', min(aggregate.id), jsonb_build_object('uuid', aggregate.uuid,
        'ids', jsonb_agg(aggregate.id ORDER BY aggregate.id), 'spellings', jsonb_agg(COALESCE(aggregate.original_text, aggregate.uuid::text) ORDER BY aggregate.id))
    FROM import_staging_aggregates AS aggregate WHERE aggregate.uuid IS NOT NULL GROUP BY aggregate.uuid HAVING count(*) > 1
    UNION ALL
    SELECT 'provider-aggregate-orphan', orphans.resource_provider_id, jsonb_build_object(
        'resource_provider_id', orphans.resource_provider_id, 'aggregate_id', orphans.aggregate_id,
        'provider', provider.uuid, 'aggregate', aggregate.uuid)
    FROM orphans
    LEFT JOIN import_staging_resource_providers AS provider ON provider.id = orphans.resource_provider_id
    LEFT JOIN import_staging_aggregates AS aggregate ON aggregate.id = orphans.aggregate_id
) AS anomaly
ORDER BY anomaly.kind, anomaly.id;

-- Sets the parents that exist. ImportValidateProviders reports the others.
-- name: ImportSetParents :exec
UPDATE import_staging_resource_providers AS provider
SET parent_id = CASE WHEN EXISTS (
    SELECT FROM import_staging_resource_providers AS parent WHERE parent.id = provider.parent_provider_id
) THEN provider.parent_provider_id END
WHERE provider.parent_provider_id IS NOT NULL;

-- Breaks every parent cycle at its provider with the lowest id. It follows the parents only of
-- providers that no root reaches; UNION ends the recursion, because the number of pairs is finite.
-- name: ImportBreakParentCycles :exec
WITH RECURSIVE reached AS (
    SELECT provider.id FROM import_staging_resource_providers AS provider WHERE provider.parent_id IS NULL
    UNION ALL
    SELECT child.id FROM reached JOIN import_staging_resource_providers AS child ON child.parent_id = reached.id
), upward AS (
    SELECT unreachable.id, unreachable.parent_id AS ancestor_id
    FROM import_staging_resource_providers AS unreachable
    WHERE NOT EXISTS (SELECT FROM reached WHERE reached.id = unreachable.id)
    UNION
    SELECT upward.id, parent.parent_id
    FROM upward JOIN import_staging_resource_providers AS parent ON parent.id = upward.ancestor_id
), lowest_of_cycle AS (
    SELECT upward.id FROM upward GROUP BY upward.id
    HAVING bool_or(upward.ancestor_id = upward.id) AND min(upward.ancestor_id) = upward.id
), unlinked AS (
    UPDATE import_staging_resource_providers AS provider SET parent_id = NULL
    FROM lowest_of_cycle WHERE lowest_of_cycle.id = provider.id
)
INSERT INTO import_anomalies (kind, source_row)
SELECT 'provider-parent-cycle', jsonb_build_object('id', provider.id, 'uuid', provider.uuid, 'name', provider.name,
    'parent_provider_id', provider.parent_provider_id)
FROM import_staging_resource_providers AS provider JOIN lowest_of_cycle ON lowest_of_cycle.id = provider.id
ORDER BY provider.id;

-- Sets the root of every provider. There are no parent cycles left.
-- name: ImportSetRoots :exec
WITH RECURSIVE in_tree AS (
    SELECT provider.id, provider.id AS root_id FROM import_staging_resource_providers AS provider WHERE provider.parent_id IS NULL
    UNION ALL
    SELECT child.id, in_tree.root_id FROM in_tree JOIN import_staging_resource_providers AS child ON child.parent_id = in_tree.id
)
UPDATE import_staging_resource_providers AS provider SET root_id = in_tree.root_id FROM in_tree WHERE in_tree.id = provider.id;

-- name: ImportValidateProviders :exec
INSERT INTO import_anomalies (kind, source_row)
SELECT anomaly.kind, anomaly.source_row || jsonb_build_object('id', anomaly.id)
FROM (
    SELECT CASE WHEN replace(provider.uuid::text, '-', '') = lower(regexp_replace(provider.original_text, 'urn:|uuid:|[{}-]', '', 'g'))
            THEN 'provider-uuid-spelling' ELSE 'provider-uuid-invalid' END AS kind,
        provider.id, jsonb_build_object('name', provider.name, 'uuid', provider.original_text, 'uuid_here', provider.uuid) AS source_row
    FROM import_staging_resource_providers AS provider WHERE provider.original_text IS NOT NULL
    UNION ALL
    SELECT 'provider-uuid-twice', min(provider.id), jsonb_build_object('uuid', provider.uuid,
        'ids', jsonb_agg(provider.id ORDER BY provider.id), 'names', jsonb_agg(provider.name ORDER BY provider.id))
    FROM import_staging_resource_providers AS provider GROUP BY provider.uuid HAVING count(*) > 1
    UNION ALL
    SELECT 'provider-name-missing', provider.id, jsonb_build_object('uuid', provider.uuid)
    FROM import_staging_resource_providers AS provider WHERE provider.name IS NULL
    UNION ALL
    SELECT 'provider-name-case', min(provider.id), jsonb_build_object('names', jsonb_agg(provider.name ORDER BY provider.id))
    FROM import_staging_resource_providers AS provider GROUP BY lower(provider.name) HAVING count(*) > 1 AND count(provider.name) > 1
    UNION ALL
    SELECT 'provider-generation-missing', provider.id, jsonb_build_object('uuid', provider.uuid, 'name', provider.name)
    FROM import_staging_resource_providers AS provider WHERE provider.generation IS NULL
    UNION ALL
    SELECT 'provider-parent-missing', provider.id,
        jsonb_build_object('uuid', provider.uuid, 'name', provider.name, 'parent_provider_id', provider.parent_provider_id)
    FROM import_staging_resource_providers AS provider
    WHERE provider.parent_provider_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM import_staging_resource_providers AS parent WHERE parent.id = provider.parent_provider_id)
    UNION ALL
    SELECT CASE WHEN provider.root_provider_id IS NULL THEN 'provider-root-missing' ELSE 'provider-root-wrong' END,
        provider.id, jsonb_build_object('uuid', provider.uuid, 'name', provider.name,
            'root_provider_id', provider.root_provider_id, 'root_here', provider.root_id)
    FROM import_staging_resource_providers AS provider WHERE provider.root_provider_id IS DISTINCT FROM provider.root_id
) AS anomaly
ORDER BY anomaly.kind, anomaly.id;

-- Deletes inventories of providers or classes that do not exist. Clamps values that are out of bounds
-- so that no claim can allocate more than before: an inventory without capacity becomes completely
-- reserved.
-- name: ImportValidateInventories :exec
WITH orphans AS (
    DELETE FROM import_staging_inventories AS inventory
    WHERE NOT EXISTS (SELECT FROM import_staging_resource_providers AS provider WHERE provider.id = inventory.resource_provider_id)
       OR NOT EXISTS (SELECT FROM import_staging_resource_classes AS class WHERE class.id = inventory.resource_class_id)
    RETURNING inventory.id, 'inventory-orphan' AS kind, inventory.resource_provider_id, inventory.resource_class_id, inventory.total, inventory.reserved,
        inventory.min_unit, inventory.max_unit, inventory.step_size, inventory.allocation_ratio, inventory.created_at, inventory.updated_at
), out_of_bounds AS (
    SELECT inventory.id, 'inventory-bounds' AS kind, inventory.resource_provider_id, inventory.resource_class_id, inventory.total, inventory.reserved,
        inventory.min_unit, inventory.max_unit, inventory.step_size, inventory.allocation_ratio, inventory.created_at, inventory.updated_at
    FROM import_staging_inventories AS inventory
    WHERE (least(inventory.total, inventory.min_unit, inventory.max_unit, inventory.step_size) < 1 OR inventory.reserved < 0
        OR greatest(inventory.total, inventory.reserved, inventory.min_unit, inventory.max_unit, inventory.step_size) > 2147483647
        -- PostgreSQL sorts NaN after all numbers.
        OR inventory.allocation_ratio NOT BETWEEN -3.40282e+38 AND 3.40282e+38)
      AND EXISTS (SELECT FROM import_staging_resource_providers AS provider WHERE provider.id = inventory.resource_provider_id)
      AND EXISTS (SELECT FROM import_staging_resource_classes AS class WHERE class.id = inventory.resource_class_id)
), adjusted AS (
    UPDATE import_staging_inventories AS inventory
    SET total = least(greatest(inventory.total, 1), 2147483647),
        reserved = CASE WHEN inventory.total < 1 OR inventory.max_unit < 1 OR inventory.allocation_ratio = 'NaN'
            THEN least(greatest(inventory.total, inventory.reserved, 1), 2147483647) ELSE least(greatest(inventory.reserved, 0), 2147483647) END,
        min_unit = least(greatest(inventory.min_unit, 1), 2147483647),
        max_unit = least(greatest(inventory.max_unit, 1), 2147483647),
        step_size = least(greatest(inventory.step_size, 1), 2147483647),
        allocation_ratio = CASE WHEN inventory.allocation_ratio = 'NaN' THEN 1
            ELSE least(greatest(inventory.allocation_ratio, -3.40282e+38), 3.40282e+38) END
    FROM out_of_bounds WHERE out_of_bounds.id = inventory.id
)
INSERT INTO import_anomalies (kind, source_row)
SELECT anomaly.kind, jsonb_build_object('id', anomaly.id, 'resource_provider_id', anomaly.resource_provider_id, 'provider', provider.uuid,
    'resource_class_id', anomaly.resource_class_id, 'class', class.name, 'total', anomaly.total, 'reserved', anomaly.reserved,
    'min_unit', anomaly.min_unit, 'max_unit', anomaly.max_unit, 'step_size', anomaly.step_size,
    'allocation_ratio', anomaly.allocation_ratio::text, 'created_at', anomaly.created_at, 'updated_at', anomaly.updated_at)
FROM (
    SELECT orphans.id, orphans.kind, orphans.resource_provider_id, orphans.resource_class_id, orphans.total, orphans.reserved,
        orphans.min_unit, orphans.max_unit, orphans.step_size, orphans.allocation_ratio, orphans.created_at, orphans.updated_at FROM orphans
    UNION ALL
    SELECT out_of_bounds.id, out_of_bounds.kind, out_of_bounds.resource_provider_id, out_of_bounds.resource_class_id, out_of_bounds.total, out_of_bounds.reserved,
        out_of_bounds.min_unit, out_of_bounds.max_unit, out_of_bounds.step_size, out_of_bounds.allocation_ratio, out_of_bounds.created_at, out_of_bounds.updated_at FROM out_of_bounds
) AS anomaly
LEFT JOIN import_staging_resource_providers AS provider ON provider.id = anomaly.resource_provider_id
LEFT JOIN import_staging_resource_classes AS class ON class.id = anomaly.resource_class_id
ORDER BY anomaly.kind, anomaly.id;

-- Deletes allocations without an inventory or with an amount below 1. Runs after
-- ImportValidateInventories.
-- name: ImportValidateAllocations :exec
WITH deleted AS (
    DELETE FROM import_staging_allocations AS allocation
    WHERE allocation.used < 1 OR NOT EXISTS (
        SELECT FROM import_staging_inventories AS inventory
        WHERE inventory.resource_provider_id = allocation.resource_provider_id AND inventory.resource_class_id = allocation.resource_class_id)
    RETURNING allocation.id, allocation.resource_provider_id, allocation.consumer_uuid, allocation.original_text,
        allocation.resource_class_id, allocation.used, allocation.created_at, allocation.updated_at
)
INSERT INTO import_anomalies (kind, source_row)
SELECT CASE WHEN deleted.used < 1 THEN 'allocation-empty' ELSE 'allocation-orphan' END,
    jsonb_build_object('id', deleted.id, 'resource_provider_id', deleted.resource_provider_id, 'provider', provider.uuid,
        'resource_class_id', deleted.resource_class_id, 'class', class.name, 'consumer_id', COALESCE(deleted.original_text, deleted.consumer_uuid::text),
        'used', deleted.used, 'created_at', deleted.created_at, 'updated_at', deleted.updated_at)
FROM deleted
LEFT JOIN import_staging_resource_providers AS provider ON provider.id = deleted.resource_provider_id
LEFT JOIN import_staging_resource_classes AS class ON class.id = deleted.resource_class_id
ORDER BY deleted.id;

-- name: ImportValidateDuplicates :exec
INSERT INTO import_anomalies (kind, source_row)
SELECT 'allocation-twice', jsonb_build_object('consumer', allocation.consumer_uuid,
    'resource_provider_id', allocation.resource_provider_id, 'resource_class_id', allocation.resource_class_id,
    'ids', jsonb_agg(allocation.id ORDER BY allocation.id), 'used', jsonb_agg(allocation.used ORDER BY allocation.id),
    'used_here', sum(allocation.used))
FROM import_staging_allocations AS allocation
GROUP BY allocation.consumer_uuid, allocation.resource_provider_id, allocation.resource_class_id HAVING count(*) > 1
ORDER BY min(allocation.id);

-- name: ImportValidateOvercommitted :exec
INSERT INTO import_anomalies (kind, source_row)
SELECT 'inventory-overcommitted', jsonb_build_object('id', inventory.id, 'provider', provider.uuid, 'class', class.name,
    'total', inventory.total, 'reserved', inventory.reserved, 'allocation_ratio', inventory.allocation_ratio::text, 'used', allocated.used)
FROM (
    SELECT allocation.resource_provider_id, allocation.resource_class_id, sum(allocation.used) AS used
    FROM import_staging_allocations AS allocation GROUP BY allocation.resource_provider_id, allocation.resource_class_id
) AS allocated
JOIN import_staging_inventories AS inventory
    ON inventory.resource_provider_id = allocated.resource_provider_id AND inventory.resource_class_id = allocated.resource_class_id
JOIN import_staging_resource_providers AS provider ON provider.id = allocated.resource_provider_id
JOIN import_staging_resource_classes AS class ON class.id = allocated.resource_class_id
WHERE allocated.used > (inventory.total - inventory.reserved) * inventory.allocation_ratio
ORDER BY inventory.id;

-- Merges consumers with one UUID in several forms into the one with the lowest id. Deletes consumers
-- without allocations, as Berth does when it deletes the last allocation. Runs after
-- ImportValidateAllocations.
-- name: ImportValidateConsumers :exec
WITH duplicates AS (
    DELETE FROM import_staging_consumers AS consumer
    WHERE EXISTS (SELECT FROM import_staging_consumers AS earlier WHERE earlier.uuid = consumer.uuid AND earlier.id < consumer.id)
    RETURNING consumer.id, 'consumer-uuid-twice' AS kind, consumer.uuid, consumer.original_text, consumer.project_id, consumer.user_id,
        consumer.generation, consumer.consumer_type_id, consumer.created_at, consumer.updated_at
), idle AS (
    DELETE FROM import_staging_consumers AS consumer
    WHERE NOT EXISTS (SELECT FROM import_staging_allocations AS allocation WHERE allocation.consumer_uuid = consumer.uuid)
      AND NOT EXISTS (SELECT FROM import_staging_consumers AS earlier WHERE earlier.uuid = consumer.uuid AND earlier.id < consumer.id)
    RETURNING consumer.id, 'consumer-idle' AS kind, consumer.uuid, consumer.original_text, consumer.project_id, consumer.user_id,
        consumer.generation, consumer.consumer_type_id, consumer.created_at, consumer.updated_at
)
INSERT INTO import_anomalies (kind, source_row)
SELECT anomaly.kind, jsonb_build_object('id', anomaly.id, 'uuid', COALESCE(anomaly.original_text, anomaly.uuid::text), 'project_id', anomaly.project_id,
    'project', project.external_id, 'user_id', anomaly.user_id, 'user', owner.external_id, 'generation', anomaly.generation,
    'consumer_type', type.name, 'created_at', anomaly.created_at, 'updated_at', anomaly.updated_at)
FROM (
    SELECT duplicates.id, duplicates.kind, duplicates.uuid, duplicates.original_text, duplicates.project_id, duplicates.user_id,
        duplicates.generation, duplicates.consumer_type_id, duplicates.created_at, duplicates.updated_at FROM duplicates
    UNION ALL
    SELECT idle.id, idle.kind, idle.uuid, idle.original_text, idle.project_id, idle.user_id,
        idle.generation, idle.consumer_type_id, idle.created_at, idle.updated_at FROM idle
) AS anomaly
LEFT JOIN import_staging_projects AS project ON project.id = anomaly.project_id
LEFT JOIN import_staging_users AS owner ON owner.id = anomaly.user_id
LEFT JOIN import_staging_consumer_types AS type ON type.id = anomaly.consumer_type_id
ORDER BY anomaly.kind, anomaly.id;

-- Reports anomalies of the remaining consumers, and consumers that are missing.
-- name: ImportValidateOwners :exec
INSERT INTO import_anomalies (kind, source_row)
SELECT anomaly.kind, anomaly.source_row
FROM (
    SELECT 'consumer-missing' AS kind, min(allocation.id) AS id,
        jsonb_build_object('uuid', COALESCE(min(allocation.original_text), allocation.consumer_uuid::text), 'allocations', count(*)) AS source_row
    FROM import_staging_allocations AS allocation
    WHERE NOT EXISTS (SELECT FROM import_staging_consumers AS consumer WHERE consumer.uuid = allocation.consumer_uuid)
    GROUP BY allocation.consumer_uuid
    UNION ALL
    SELECT CASE WHEN replace(named.uuid::text, '-', '') = lower(regexp_replace(named.original_text, 'urn:|uuid:|[{}-]', '', 'g'))
            THEN 'consumer-uuid-spelling' ELSE 'consumer-uuid-invalid' END,
        min(named.id), jsonb_build_object('uuid', named.original_text, 'uuid_here', named.uuid)
    FROM (
        SELECT consumer.id, consumer.uuid, consumer.original_text FROM import_staging_consumers AS consumer WHERE consumer.original_text IS NOT NULL
        UNION ALL
        SELECT allocation.id, allocation.consumer_uuid, allocation.original_text FROM import_staging_allocations AS allocation WHERE allocation.original_text IS NOT NULL
    ) AS named
    GROUP BY named.uuid, named.original_text
    UNION ALL
    SELECT 'consumer-generation', consumer.id, jsonb_build_object('id', consumer.id, 'uuid', consumer.uuid, 'generation', consumer.generation)
    FROM import_staging_consumers AS consumer WHERE consumer.generation < 1
    UNION ALL
    SELECT 'consumer-project-missing', consumer.id, jsonb_build_object('id', consumer.id, 'uuid', consumer.uuid, 'project_id', consumer.project_id)
    FROM import_staging_consumers AS consumer
    WHERE NOT EXISTS (SELECT FROM import_staging_projects AS project WHERE project.id = consumer.project_id)
    UNION ALL
    SELECT 'consumer-user-missing', consumer.id, jsonb_build_object('id', consumer.id, 'uuid', consumer.uuid, 'user_id', consumer.user_id)
    FROM import_staging_consumers AS consumer
    WHERE NOT EXISTS (SELECT FROM import_staging_users AS owner WHERE owner.id = consumer.user_id)
    UNION ALL
    SELECT 'consumer-type-missing', consumer.id, jsonb_build_object('id', consumer.id, 'uuid', consumer.uuid, 'consumer_type_id', consumer.consumer_type_id)
    FROM import_staging_consumers AS consumer
    WHERE consumer.consumer_type_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM import_staging_consumer_types AS type WHERE type.id = consumer.consumer_type_id)
    UNION ALL
    SELECT 'owner-case', min(project.id), jsonb_build_object('projects', jsonb_agg(project.external_id ORDER BY project.id))
    FROM import_staging_projects AS project GROUP BY lower(project.external_id) HAVING count(*) > 1
    UNION ALL
    SELECT 'owner-case', min(owner.id), jsonb_build_object('users', jsonb_agg(owner.external_id ORDER BY owner.id))
    FROM import_staging_users AS owner GROUP BY lower(owner.external_id) HAVING count(*) > 1
) AS anomaly
ORDER BY anomaly.kind, anomaly.id;

-- Reports rows without a time of creation: one anomaly per table.
-- name: ImportValidateTimes :exec
INSERT INTO import_anomalies (kind, source_row)
SELECT 'time-missing', jsonb_build_object('table', undated_table.name, 'rows', undated_table.number)
FROM (
    SELECT 'resource_providers' AS name, count(*) AS number FROM import_staging_resource_providers AS undated WHERE undated.created_at IS NULL
    UNION ALL SELECT 'inventories', count(*) FROM import_staging_inventories AS undated WHERE undated.created_at IS NULL
    UNION ALL SELECT 'consumers', count(*) FROM import_staging_consumers AS undated WHERE undated.created_at IS NULL
    UNION ALL SELECT 'allocations', count(*) FROM import_staging_allocations AS undated WHERE undated.created_at IS NULL
) AS undated_table
WHERE undated_table.number > 0
ORDER BY undated_table.name;

-- Records times that the import could not parse, which are null in the copy. The caller passes them as
-- JSON, as found while it read the source.
-- name: ImportValidateReadings :exec
INSERT INTO import_anomalies (kind, source_row)
SELECT 'time-unreadable', unreadable.source_row::jsonb
FROM unnest(@source_rows::text[]) WITH ORDINALITY AS unreadable (source_row, position)
ORDER BY unreadable.position;
