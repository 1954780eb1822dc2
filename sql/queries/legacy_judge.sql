-- What is odd in the copy of a Python service's database. Each statement notes what it
-- finds in legacy_oddities and brings the copy in order, so that what is left of it can
-- be written. All run in the one transaction of legacy.Import and lock nobody else.
-- They read whole tables by hash joins.

-- Classes and their numbers here: those of the same name; else the number they had, if
-- it is free and of the right range; else a new one.
-- name: LegacyJudgeClasses :exec
WITH named AS (
    SELECT class.id, class.name, present.id AS present_id,
        class.name LIKE 'CUSTOM\_%' OR class.id >= 10000 AS custom,
        CASE
            WHEN present.id IS NOT NULL THEN present.id
            WHEN class.name LIKE 'CUSTOM\_%' AND class.id < 10000 THEN NULL
            WHEN EXISTS (SELECT FROM resource_classes AS taken WHERE taken.id = class.id) THEN NULL
            ELSE class.id
        END AS kept_id
    FROM legacy_resource_classes AS class LEFT JOIN resource_classes AS present ON present.name = class.name
), highest AS (
    SELECT greatest(9999, max(all_ids.id)) AS custom, max(all_ids.id) FILTER (WHERE all_ids.id < 10000) AS standard
    FROM (SELECT class.id FROM legacy_resource_classes AS class UNION ALL SELECT present.id FROM resource_classes AS present) AS all_ids
), numbered AS (
    SELECT named.id,
        COALESCE(named.kept_id, CASE WHEN named.custom THEN highest.custom ELSE highest.standard END
            + row_number() OVER (PARTITION BY named.kept_id IS NULL, named.custom ORDER BY named.id)) AS class_id
    FROM named CROSS JOIN highest
), mapped AS (
    UPDATE legacy_resource_classes AS class SET class_id = numbered.class_id
    FROM numbered WHERE numbered.id = class.id
)
INSERT INTO legacy_oddities (kind, found)
SELECT odd.kind, odd.found
FROM (
    SELECT 'class-number' AS kind, named.id,
        jsonb_build_object('name', named.name, 'id', named.id, 'id_here', numbered.class_id) AS found
    FROM named JOIN numbered ON numbered.id = named.id WHERE numbered.class_id <> named.id
    UNION ALL
    SELECT 'class-name', named.id, jsonb_build_object('id', named.id, 'name', named.name)
    FROM named WHERE named.name !~ '^[A-Z0-9_]+$'
    UNION ALL
    SELECT 'class-standard', named.id, jsonb_build_object('id', named.id, 'name', named.name)
    FROM named WHERE named.present_id IS NULL AND named.name NOT LIKE 'CUSTOM\_%'
    UNION ALL
    SELECT 'class-case', min(named.id), jsonb_build_object('names', jsonb_agg(named.name ORDER BY named.id))
    FROM named GROUP BY lower(named.name) HAVING count(*) > 1
) AS odd
ORDER BY odd.kind, odd.id;

-- name: LegacyJudgeTraits :exec
WITH orphans AS (
    DELETE FROM legacy_provider_traits AS present
    WHERE NOT EXISTS (SELECT FROM legacy_resource_providers AS provider WHERE provider.id = present.resource_provider_id)
       OR NOT EXISTS (SELECT FROM legacy_traits AS trait WHERE trait.id = present.trait_id)
    RETURNING present.resource_provider_id, present.trait_id
)
INSERT INTO legacy_oddities (kind, found)
SELECT odd.kind, odd.found
FROM (
    SELECT 'trait-name' AS kind, trait.id, jsonb_build_object('id', trait.id, 'name', trait.name) AS found
    FROM legacy_traits AS trait WHERE trait.name !~ '^[A-Z0-9_]+$'
    UNION ALL
    SELECT 'trait-standard', trait.id, jsonb_build_object('id', trait.id, 'name', trait.name)
    FROM legacy_traits AS trait
    WHERE trait.name NOT LIKE 'CUSTOM\_%' AND NOT EXISTS (SELECT FROM traits AS present WHERE present.name = trait.name)
    UNION ALL
    SELECT 'trait-case', min(trait.id), jsonb_build_object('names', jsonb_agg(trait.name ORDER BY trait.id))
    FROM legacy_traits AS trait GROUP BY lower(trait.name) HAVING count(*) > 1
    UNION ALL
    SELECT 'provider-trait-orphan', orphans.resource_provider_id, jsonb_build_object(
        'resource_provider_id', orphans.resource_provider_id, 'trait_id', orphans.trait_id,
        'provider', provider.uuid, 'trait', trait.name)
    FROM orphans
    LEFT JOIN legacy_resource_providers AS provider ON provider.id = orphans.resource_provider_id
    LEFT JOIN legacy_traits AS trait ON trait.id = orphans.trait_id
) AS odd
ORDER BY odd.kind, odd.id;

-- Aggregates with one uuid in several spellings become one: links go by uuid.
-- name: LegacyJudgeAggregates :exec
WITH nameless AS (
    DELETE FROM legacy_aggregates AS aggregate WHERE aggregate.uuid IS NULL
    RETURNING aggregate.id, aggregate.created_at
), orphans AS (
    DELETE FROM legacy_provider_aggregates AS member
    WHERE NOT EXISTS (SELECT FROM legacy_resource_providers AS provider WHERE provider.id = member.resource_provider_id)
       OR NOT EXISTS (SELECT FROM legacy_aggregates AS aggregate WHERE aggregate.id = member.aggregate_id AND aggregate.uuid IS NOT NULL)
    RETURNING member.resource_provider_id, member.aggregate_id
)
INSERT INTO legacy_oddities (kind, found)
SELECT odd.kind, odd.found
FROM (
    SELECT 'aggregate-uuid-missing' AS kind, nameless.id,
        jsonb_build_object('id', nameless.id, 'created_at', nameless.created_at) AS found
    FROM nameless
    UNION ALL
    SELECT CASE WHEN replace(aggregate.uuid::text, '-', '') = lower(regexp_replace(aggregate.spelled, 'urn:|uuid:|[{}-]', '', 'g'))
            THEN 'aggregate-uuid-spelling' ELSE 'aggregate-uuid-invalid' END,
        aggregate.id, jsonb_build_object('id', aggregate.id, 'uuid', aggregate.spelled, 'uuid_here', aggregate.uuid)
    FROM legacy_aggregates AS aggregate WHERE aggregate.spelled IS NOT NULL
    UNION ALL
    SELECT 'aggregate-uuid-twice', min(aggregate.id), jsonb_build_object('uuid', aggregate.uuid,
        'ids', jsonb_agg(aggregate.id ORDER BY aggregate.id), 'spellings', jsonb_agg(COALESCE(aggregate.spelled, aggregate.uuid::text) ORDER BY aggregate.id))
    FROM legacy_aggregates AS aggregate WHERE aggregate.uuid IS NOT NULL GROUP BY aggregate.uuid HAVING count(*) > 1
    UNION ALL
    SELECT 'provider-aggregate-orphan', orphans.resource_provider_id, jsonb_build_object(
        'resource_provider_id', orphans.resource_provider_id, 'aggregate_id', orphans.aggregate_id,
        'provider', provider.uuid, 'aggregate', aggregate.uuid)
    FROM orphans
    LEFT JOIN legacy_resource_providers AS provider ON provider.id = orphans.resource_provider_id
    LEFT JOIN legacy_aggregates AS aggregate ON aggregate.id = orphans.aggregate_id
) AS odd
ORDER BY odd.kind, odd.id;

-- Parents that exist. What they say wrong is found by LegacyJudgeProviders.
-- name: LegacyParents :exec
UPDATE legacy_resource_providers AS provider
SET parent_id = CASE WHEN EXISTS (
    SELECT FROM legacy_resource_providers AS parent WHERE parent.id = provider.parent_provider_id
) THEN provider.parent_provider_id END
WHERE provider.parent_provider_id IS NOT NULL;

-- Cuts every circle of parents at its provider with the lowest id. Walks up from those
-- only that no root reaches; UNION ends it, since there are as many pairs as there are.
-- name: LegacyCircles :exec
WITH RECURSIVE reached AS (
    SELECT provider.id FROM legacy_resource_providers AS provider WHERE provider.parent_id IS NULL
    UNION ALL
    SELECT child.id FROM reached JOIN legacy_resource_providers AS child ON child.parent_id = reached.id
), upward AS (
    SELECT lost.id, lost.parent_id AS above
    FROM legacy_resource_providers AS lost
    WHERE NOT EXISTS (SELECT FROM reached WHERE reached.id = lost.id)
    UNION
    SELECT upward.id, parent.parent_id
    FROM upward JOIN legacy_resource_providers AS parent ON parent.id = upward.above
), cut AS (
    SELECT upward.id FROM upward GROUP BY upward.id
    HAVING bool_or(upward.above = upward.id) AND min(upward.above) = upward.id
), loose AS (
    UPDATE legacy_resource_providers AS provider SET parent_id = NULL
    FROM cut WHERE cut.id = provider.id
)
INSERT INTO legacy_oddities (kind, found)
SELECT 'provider-parent-circle', jsonb_build_object('id', provider.id, 'uuid', provider.uuid, 'name', provider.name,
    'parent_provider_id', provider.parent_provider_id)
FROM legacy_resource_providers AS provider JOIN cut ON cut.id = provider.id
ORDER BY provider.id;

-- The topmost ancestor of everybody. There are no circles left.
-- name: LegacyRoots :exec
WITH RECURSIVE below AS (
    SELECT provider.id, provider.id AS root_id FROM legacy_resource_providers AS provider WHERE provider.parent_id IS NULL
    UNION ALL
    SELECT child.id, below.root_id FROM below JOIN legacy_resource_providers AS child ON child.parent_id = below.id
)
UPDATE legacy_resource_providers AS provider SET root_id = below.root_id FROM below WHERE below.id = provider.id;

-- name: LegacyJudgeProviders :exec
INSERT INTO legacy_oddities (kind, found)
SELECT odd.kind, odd.found || jsonb_build_object('id', odd.id)
FROM (
    SELECT CASE WHEN replace(provider.uuid::text, '-', '') = lower(regexp_replace(provider.spelled, 'urn:|uuid:|[{}-]', '', 'g'))
            THEN 'provider-uuid-spelling' ELSE 'provider-uuid-invalid' END AS kind,
        provider.id, jsonb_build_object('name', provider.name, 'uuid', provider.spelled, 'uuid_here', provider.uuid) AS found
    FROM legacy_resource_providers AS provider WHERE provider.spelled IS NOT NULL
    UNION ALL
    SELECT 'provider-uuid-twice', min(provider.id), jsonb_build_object('uuid', provider.uuid,
        'ids', jsonb_agg(provider.id ORDER BY provider.id), 'names', jsonb_agg(provider.name ORDER BY provider.id))
    FROM legacy_resource_providers AS provider GROUP BY provider.uuid HAVING count(*) > 1
    UNION ALL
    SELECT 'provider-name-missing', provider.id, jsonb_build_object('uuid', provider.uuid)
    FROM legacy_resource_providers AS provider WHERE provider.name IS NULL
    UNION ALL
    SELECT 'provider-name-case', min(provider.id), jsonb_build_object('names', jsonb_agg(provider.name ORDER BY provider.id))
    FROM legacy_resource_providers AS provider GROUP BY lower(provider.name) HAVING count(*) > 1 AND count(provider.name) > 1
    UNION ALL
    SELECT 'provider-generation-missing', provider.id, jsonb_build_object('uuid', provider.uuid, 'name', provider.name)
    FROM legacy_resource_providers AS provider WHERE provider.generation IS NULL
    UNION ALL
    SELECT 'provider-parent-missing', provider.id,
        jsonb_build_object('uuid', provider.uuid, 'name', provider.name, 'parent_provider_id', provider.parent_provider_id)
    FROM legacy_resource_providers AS provider
    WHERE provider.parent_provider_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM legacy_resource_providers AS parent WHERE parent.id = provider.parent_provider_id)
    UNION ALL
    SELECT CASE WHEN provider.root_provider_id IS NULL THEN 'provider-root-missing' ELSE 'provider-root-wrong' END,
        provider.id, jsonb_build_object('uuid', provider.uuid, 'name', provider.name,
            'root_provider_id', provider.root_provider_id, 'root_here', provider.root_id)
    FROM legacy_resource_providers AS provider WHERE provider.root_provider_id IS DISTINCT FROM provider.root_id
) AS odd
ORDER BY odd.kind, odd.id;

-- Inventories of nobody or nothing go. Numbers beyond the bounds are brought within, so
-- that no more can be claimed than before: what had no room gets all of it reserved.
-- name: LegacyJudgeInventories :exec
WITH orphans AS (
    DELETE FROM legacy_inventories AS inventory
    WHERE NOT EXISTS (SELECT FROM legacy_resource_providers AS provider WHERE provider.id = inventory.resource_provider_id)
       OR NOT EXISTS (SELECT FROM legacy_resource_classes AS class WHERE class.id = inventory.resource_class_id)
    RETURNING inventory.id, 'inventory-orphan' AS kind, inventory.resource_provider_id, inventory.resource_class_id, inventory.total, inventory.reserved,
        inventory.min_unit, inventory.max_unit, inventory.step_size, inventory.allocation_ratio, inventory.created_at, inventory.updated_at
), beyond AS (
    SELECT inventory.id, 'inventory-bounds' AS kind, inventory.resource_provider_id, inventory.resource_class_id, inventory.total, inventory.reserved,
        inventory.min_unit, inventory.max_unit, inventory.step_size, inventory.allocation_ratio, inventory.created_at, inventory.updated_at
    FROM legacy_inventories AS inventory
    WHERE (least(inventory.total, inventory.min_unit, inventory.max_unit, inventory.step_size) < 1 OR inventory.reserved < 0
        OR greatest(inventory.total, inventory.reserved, inventory.min_unit, inventory.max_unit, inventory.step_size) > 2147483647
        -- NaN is more than any number.
        OR inventory.allocation_ratio NOT BETWEEN -3.40282e+38 AND 3.40282e+38)
      AND EXISTS (SELECT FROM legacy_resource_providers AS provider WHERE provider.id = inventory.resource_provider_id)
      AND EXISTS (SELECT FROM legacy_resource_classes AS class WHERE class.id = inventory.resource_class_id)
), brought AS (
    UPDATE legacy_inventories AS inventory
    SET total = least(greatest(inventory.total, 1), 2147483647),
        reserved = CASE WHEN inventory.total < 1 OR inventory.max_unit < 1 OR inventory.allocation_ratio = 'NaN'
            THEN least(greatest(inventory.total, inventory.reserved, 1), 2147483647) ELSE least(greatest(inventory.reserved, 0), 2147483647) END,
        min_unit = least(greatest(inventory.min_unit, 1), 2147483647),
        max_unit = least(greatest(inventory.max_unit, 1), 2147483647),
        step_size = least(greatest(inventory.step_size, 1), 2147483647),
        allocation_ratio = CASE WHEN inventory.allocation_ratio = 'NaN' THEN 1
            ELSE least(greatest(inventory.allocation_ratio, -3.40282e+38), 3.40282e+38) END
    FROM beyond WHERE beyond.id = inventory.id
)
INSERT INTO legacy_oddities (kind, found)
SELECT odd.kind, jsonb_build_object('id', odd.id, 'resource_provider_id', odd.resource_provider_id, 'provider', provider.uuid,
    'resource_class_id', odd.resource_class_id, 'class', class.name, 'total', odd.total, 'reserved', odd.reserved,
    'min_unit', odd.min_unit, 'max_unit', odd.max_unit, 'step_size', odd.step_size,
    'allocation_ratio', odd.allocation_ratio::text, 'created_at', odd.created_at, 'updated_at', odd.updated_at)
FROM (
    SELECT orphans.id, orphans.kind, orphans.resource_provider_id, orphans.resource_class_id, orphans.total, orphans.reserved,
        orphans.min_unit, orphans.max_unit, orphans.step_size, orphans.allocation_ratio, orphans.created_at, orphans.updated_at FROM orphans
    UNION ALL
    SELECT beyond.id, beyond.kind, beyond.resource_provider_id, beyond.resource_class_id, beyond.total, beyond.reserved,
        beyond.min_unit, beyond.max_unit, beyond.step_size, beyond.allocation_ratio, beyond.created_at, beyond.updated_at FROM beyond
) AS odd
LEFT JOIN legacy_resource_providers AS provider ON provider.id = odd.resource_provider_id
LEFT JOIN legacy_resource_classes AS class ON class.id = odd.resource_class_id
ORDER BY odd.kind, odd.id;

-- Allocations without an inventory, or of nothing, go. After the inventories.
-- name: LegacyJudgeAllocations :exec
WITH gone AS (
    DELETE FROM legacy_allocations AS allocation
    WHERE allocation.used < 1 OR NOT EXISTS (
        SELECT FROM legacy_inventories AS inventory
        WHERE inventory.resource_provider_id = allocation.resource_provider_id AND inventory.resource_class_id = allocation.resource_class_id)
    RETURNING allocation.id, allocation.resource_provider_id, allocation.consumer_uuid, allocation.spelled,
        allocation.resource_class_id, allocation.used, allocation.created_at, allocation.updated_at
)
INSERT INTO legacy_oddities (kind, found)
SELECT CASE WHEN gone.used < 1 THEN 'allocation-empty' ELSE 'allocation-orphan' END,
    jsonb_build_object('id', gone.id, 'resource_provider_id', gone.resource_provider_id, 'provider', provider.uuid,
        'resource_class_id', gone.resource_class_id, 'class', class.name, 'consumer_id', COALESCE(gone.spelled, gone.consumer_uuid::text),
        'used', gone.used, 'created_at', gone.created_at, 'updated_at', gone.updated_at)
FROM gone
LEFT JOIN legacy_resource_providers AS provider ON provider.id = gone.resource_provider_id
LEFT JOIN legacy_resource_classes AS class ON class.id = gone.resource_class_id
ORDER BY gone.id;

-- name: LegacyJudgeDuplicates :exec
INSERT INTO legacy_oddities (kind, found)
SELECT 'allocation-twice', jsonb_build_object('consumer', allocation.consumer_uuid,
    'resource_provider_id', allocation.resource_provider_id, 'resource_class_id', allocation.resource_class_id,
    'ids', jsonb_agg(allocation.id ORDER BY allocation.id), 'used', jsonb_agg(allocation.used ORDER BY allocation.id),
    'used_here', sum(allocation.used))
FROM legacy_allocations AS allocation
GROUP BY allocation.consumer_uuid, allocation.resource_provider_id, allocation.resource_class_id HAVING count(*) > 1
ORDER BY min(allocation.id);

-- name: LegacyJudgeOvercommitted :exec
INSERT INTO legacy_oddities (kind, found)
SELECT 'inventory-overcommitted', jsonb_build_object('id', inventory.id, 'provider', provider.uuid, 'class', class.name,
    'total', inventory.total, 'reserved', inventory.reserved, 'allocation_ratio', inventory.allocation_ratio::text, 'used', taken.used)
FROM (
    SELECT allocation.resource_provider_id, allocation.resource_class_id, sum(allocation.used) AS used
    FROM legacy_allocations AS allocation GROUP BY allocation.resource_provider_id, allocation.resource_class_id
) AS taken
JOIN legacy_inventories AS inventory
    ON inventory.resource_provider_id = taken.resource_provider_id AND inventory.resource_class_id = taken.resource_class_id
JOIN legacy_resource_providers AS provider ON provider.id = taken.resource_provider_id
JOIN legacy_resource_classes AS class ON class.id = taken.resource_class_id
WHERE taken.used > (inventory.total - inventory.reserved) * inventory.allocation_ratio
ORDER BY inventory.id;

-- One uuid in several spellings is one consumer: that with the lowest id. Those without
-- allocations go, as they do when the last of these is deleted. After the allocations.
-- name: LegacyJudgeConsumers :exec
WITH doubled AS (
    DELETE FROM legacy_consumers AS consumer
    WHERE EXISTS (SELECT FROM legacy_consumers AS earlier WHERE earlier.uuid = consumer.uuid AND earlier.id < consumer.id)
    RETURNING consumer.id, 'consumer-uuid-twice' AS kind, consumer.uuid, consumer.spelled, consumer.project_id, consumer.user_id,
        consumer.generation, consumer.consumer_type_id, consumer.created_at, consumer.updated_at
), idle AS (
    DELETE FROM legacy_consumers AS consumer
    WHERE NOT EXISTS (SELECT FROM legacy_allocations AS allocation WHERE allocation.consumer_uuid = consumer.uuid)
      AND NOT EXISTS (SELECT FROM legacy_consumers AS earlier WHERE earlier.uuid = consumer.uuid AND earlier.id < consumer.id)
    RETURNING consumer.id, 'consumer-idle' AS kind, consumer.uuid, consumer.spelled, consumer.project_id, consumer.user_id,
        consumer.generation, consumer.consumer_type_id, consumer.created_at, consumer.updated_at
)
INSERT INTO legacy_oddities (kind, found)
SELECT odd.kind, jsonb_build_object('id', odd.id, 'uuid', COALESCE(odd.spelled, odd.uuid::text), 'project_id', odd.project_id,
    'project', project.external_id, 'user_id', odd.user_id, 'user', owner.external_id, 'generation', odd.generation,
    'consumer_type', type.name, 'created_at', odd.created_at, 'updated_at', odd.updated_at)
FROM (
    SELECT doubled.id, doubled.kind, doubled.uuid, doubled.spelled, doubled.project_id, doubled.user_id,
        doubled.generation, doubled.consumer_type_id, doubled.created_at, doubled.updated_at FROM doubled
    UNION ALL
    SELECT idle.id, idle.kind, idle.uuid, idle.spelled, idle.project_id, idle.user_id,
        idle.generation, idle.consumer_type_id, idle.created_at, idle.updated_at FROM idle
) AS odd
LEFT JOIN legacy_projects AS project ON project.id = odd.project_id
LEFT JOIN legacy_users AS owner ON owner.id = odd.user_id
LEFT JOIN legacy_consumer_types AS type ON type.id = odd.consumer_type_id
ORDER BY odd.kind, odd.id;

-- What is odd about the consumers that stay, and who is missing.
-- name: LegacyJudgeOwners :exec
INSERT INTO legacy_oddities (kind, found)
SELECT odd.kind, odd.found
FROM (
    SELECT 'consumer-missing' AS kind, min(allocation.id) AS id,
        jsonb_build_object('uuid', COALESCE(min(allocation.spelled), allocation.consumer_uuid::text), 'allocations', count(*)) AS found
    FROM legacy_allocations AS allocation
    WHERE NOT EXISTS (SELECT FROM legacy_consumers AS consumer WHERE consumer.uuid = allocation.consumer_uuid)
    GROUP BY allocation.consumer_uuid
    UNION ALL
    SELECT CASE WHEN replace(named.uuid::text, '-', '') = lower(regexp_replace(named.spelled, 'urn:|uuid:|[{}-]', '', 'g'))
            THEN 'consumer-uuid-spelling' ELSE 'consumer-uuid-invalid' END,
        min(named.id), jsonb_build_object('uuid', named.spelled, 'uuid_here', named.uuid)
    FROM (
        SELECT consumer.id, consumer.uuid, consumer.spelled FROM legacy_consumers AS consumer WHERE consumer.spelled IS NOT NULL
        UNION ALL
        SELECT allocation.id, allocation.consumer_uuid, allocation.spelled FROM legacy_allocations AS allocation WHERE allocation.spelled IS NOT NULL
    ) AS named
    GROUP BY named.uuid, named.spelled
    UNION ALL
    SELECT 'consumer-generation', consumer.id, jsonb_build_object('id', consumer.id, 'uuid', consumer.uuid, 'generation', consumer.generation)
    FROM legacy_consumers AS consumer WHERE consumer.generation < 1
    UNION ALL
    SELECT 'consumer-project-missing', consumer.id, jsonb_build_object('id', consumer.id, 'uuid', consumer.uuid, 'project_id', consumer.project_id)
    FROM legacy_consumers AS consumer
    WHERE NOT EXISTS (SELECT FROM legacy_projects AS project WHERE project.id = consumer.project_id)
    UNION ALL
    SELECT 'consumer-user-missing', consumer.id, jsonb_build_object('id', consumer.id, 'uuid', consumer.uuid, 'user_id', consumer.user_id)
    FROM legacy_consumers AS consumer
    WHERE NOT EXISTS (SELECT FROM legacy_users AS owner WHERE owner.id = consumer.user_id)
    UNION ALL
    SELECT 'consumer-type-missing', consumer.id, jsonb_build_object('id', consumer.id, 'uuid', consumer.uuid, 'consumer_type_id', consumer.consumer_type_id)
    FROM legacy_consumers AS consumer
    WHERE consumer.consumer_type_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM legacy_consumer_types AS type WHERE type.id = consumer.consumer_type_id)
    UNION ALL
    SELECT 'owner-case', min(project.id), jsonb_build_object('projects', jsonb_agg(project.external_id ORDER BY project.id))
    FROM legacy_projects AS project GROUP BY lower(project.external_id) HAVING count(*) > 1
    UNION ALL
    SELECT 'owner-case', min(owner.id), jsonb_build_object('users', jsonb_agg(owner.external_id ORDER BY owner.id))
    FROM legacy_users AS owner GROUP BY lower(owner.external_id) HAVING count(*) > 1
) AS odd
ORDER BY odd.kind, odd.id;

-- Rows that don't say when they were made: one oddity a table.
-- name: LegacyJudgeTimes :exec
INSERT INTO legacy_oddities (kind, found)
SELECT 'time-missing', jsonb_build_object('table', timeless.name, 'rows', timeless.number)
FROM (
    SELECT 'resource_providers' AS name, count(*) AS number FROM legacy_resource_providers AS one WHERE one.created_at IS NULL
    UNION ALL SELECT 'inventories', count(*) FROM legacy_inventories AS one WHERE one.created_at IS NULL
    UNION ALL SELECT 'consumers', count(*) FROM legacy_consumers AS one WHERE one.created_at IS NULL
    UNION ALL SELECT 'allocations', count(*) FROM legacy_allocations AS one WHERE one.created_at IS NULL
) AS timeless
WHERE timeless.number > 0
ORDER BY timeless.name;

-- Times that could not be read, so that they are null in the copy: found, as JSON, while
-- the source was read.
-- name: LegacyJudgeReadings :exec
INSERT INTO legacy_oddities (kind, found)
SELECT 'time-unreadable', noted.found::jsonb
FROM unnest(@found::text[]) WITH ORDINALITY AS noted (found, place)
ORDER BY noted.place;
