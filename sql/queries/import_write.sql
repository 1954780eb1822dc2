-- Writes the validated copy (see import_validate.sql), table by table, in the transaction of the
-- import, which blocks all other writers. Rows keep their ids. Whole tables with hash joins.

-- name: ImportWriteClasses :many
WITH updated AS (
    UPDATE resource_classes AS class
    SET created_at = COALESCE(source.created_at, source.updated_at, class.created_at), updated_at = source.updated_at
    FROM import_staging_resource_classes AS source WHERE source.name = class.name
), inserted AS (
    INSERT INTO resource_classes (id, name, created_at, updated_at)
    SELECT source.class_id, source.name, COALESCE(source.created_at, source.updated_at, @moment::timestamptz), source.updated_at
    FROM import_staging_resource_classes AS source
    WHERE NOT EXISTS (SELECT FROM resource_classes AS class WHERE class.name = source.name)
    RETURNING name
)
SELECT inserted.name FROM inserted ORDER BY inserted.name;

-- name: ImportWriteTraits :many
WITH updated AS (
    UPDATE traits AS trait
    SET created_at = COALESCE(source.created_at, source.updated_at, trait.created_at), updated_at = source.updated_at
    FROM import_staging_traits AS source WHERE source.name = trait.name
), inserted AS (
    INSERT INTO traits (name, created_at, updated_at)
    SELECT source.name, COALESCE(source.created_at, source.updated_at, @moment::timestamptz), source.updated_at
    FROM import_staging_traits AS source
    WHERE NOT EXISTS (SELECT FROM traits AS trait WHERE trait.name = source.name)
    ORDER BY source.id
    RETURNING name
)
SELECT inserted.name FROM inserted ORDER BY inserted.name;

-- name: ImportMapTraits :exec
UPDATE import_staging_traits AS source SET trait_id = trait.id FROM traits AS trait WHERE trait.name = source.name;

-- name: ImportWriteAggregates :execrows
INSERT INTO aggregates (id, uuid, created_at)
SELECT DISTINCT ON (source.uuid) source.id, source.uuid, COALESCE(source.created_at, @moment::timestamptz)
FROM import_staging_aggregates AS source
WHERE source.uuid IS NOT NULL
ORDER BY source.uuid, source.id;

-- name: ImportWriteProjects :execrows
INSERT INTO projects (id, external_id, created_at) OVERRIDING SYSTEM VALUE
SELECT source.id, source.external_id, COALESCE(source.created_at, @moment::timestamptz) FROM import_staging_projects AS source;

-- name: ImportWriteUsers :execrows
INSERT INTO users (id, external_id, created_at) OVERRIDING SYSTEM VALUE
SELECT source.id, source.external_id, COALESCE(source.created_at, @moment::timestamptz) FROM import_staging_users AS source;

-- name: ImportWriteConsumerTypes :execrows
INSERT INTO consumer_types (id, name, created_at) OVERRIDING SYSTEM VALUE
SELECT source.id, source.name, COALESCE(source.created_at, @moment::timestamptz) FROM import_staging_consumer_types AS source;

-- name: ImportWriteProviders :execrows
INSERT INTO resource_providers (id, uuid, name, root_id, parent_id, created_at) OVERRIDING SYSTEM VALUE
SELECT source.id, source.uuid,
    CASE
        WHEN source.name IS NOT NULL THEN source.name
        -- Another provider may have this name.
        WHEN EXISTS (SELECT FROM import_staging_resource_providers AS other WHERE other.name = source.uuid::text)
            THEN source.uuid::text || ' ' || source.id::text
        ELSE source.uuid::text
    END,
    source.root_id, source.parent_id, COALESCE(source.created_at, source.updated_at, @moment::timestamptz)
FROM import_staging_resource_providers AS source
ORDER BY source.id;

-- name: ImportWriteGenerations :exec
INSERT INTO provider_generations (provider_id, generation, updated_at)
SELECT source.id, COALESCE(source.generation, 0), source.updated_at
FROM import_staging_resource_providers AS source
ORDER BY source.id;

-- name: ImportWriteProviderTraits :execrows
INSERT INTO provider_traits (provider_id, trait_id, root_id)
SELECT source.resource_provider_id, trait.trait_id, provider.root_id
FROM import_staging_provider_traits AS source JOIN import_staging_traits AS trait ON trait.id = source.trait_id
JOIN import_staging_resource_providers AS provider ON provider.id = source.resource_provider_id
ORDER BY source.resource_provider_id, trait.trait_id;

-- name: ImportWriteProviderAggregates :execrows
INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id)
SELECT DISTINCT source.resource_provider_id, aggregate.id, provider.root_id
FROM import_staging_provider_aggregates AS source
JOIN import_staging_resource_providers AS provider ON provider.id = source.resource_provider_id
JOIN import_staging_aggregates AS original ON original.id = source.aggregate_id
JOIN aggregates AS aggregate ON aggregate.uuid = original.uuid
ORDER BY source.resource_provider_id, aggregate.id;

-- name: ImportWriteInventories :execrows
INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio,
    used, created_at, updated_at)
SELECT source.resource_provider_id, class.class_id, provider.root_id, source.total, source.reserved, source.min_unit, source.max_unit,
    source.step_size, source.allocation_ratio, COALESCE(usage.used, 0),
    COALESCE(source.created_at, source.updated_at, @moment::timestamptz), source.updated_at
FROM import_staging_inventories AS source
JOIN import_staging_resource_classes AS class ON class.id = source.resource_class_id
JOIN import_staging_resource_providers AS provider ON provider.id = source.resource_provider_id
LEFT JOIN (
    SELECT allocation.resource_provider_id, allocation.resource_class_id, sum(allocation.used) AS used
    FROM import_staging_allocations AS allocation GROUP BY allocation.resource_provider_id, allocation.resource_class_id
) AS usage ON usage.resource_provider_id = source.resource_provider_id AND usage.resource_class_id = source.resource_class_id
ORDER BY source.resource_provider_id, class.class_id;

-- Inserts the project and user for consumers that have none, if there are such consumers.
-- name: ImportWriteIncomplete :exec
WITH needed AS (
    SELECT WHERE EXISTS (
        SELECT FROM import_anomalies AS anomaly
        WHERE anomaly.kind IN ('consumer-missing', 'consumer-project-missing', 'consumer-user-missing'))
), project AS (
    INSERT INTO projects (external_id, created_at)
    SELECT @project::text, @moment::timestamptz FROM needed
    WHERE NOT EXISTS (SELECT FROM projects AS existing WHERE existing.external_id = @project::text)
)
INSERT INTO users (external_id, created_at)
SELECT @owner::text, @moment::timestamptz FROM needed
WHERE NOT EXISTS (SELECT FROM users AS existing WHERE existing.external_id = @owner::text);

-- name: ImportWriteConsumers :execrows
INSERT INTO consumers (id, uuid, generation, project_id, user_id, consumer_type_id, created_at, updated_at) OVERRIDING SYSTEM VALUE
SELECT source.id, source.uuid, greatest(source.generation, 1),
    COALESCE(project.id, (SELECT incomplete.id FROM projects AS incomplete WHERE incomplete.external_id = @project::text)),
    COALESCE(owner.id, (SELECT incomplete.id FROM users AS incomplete WHERE incomplete.external_id = @owner::text)),
    type.id, COALESCE(source.created_at, source.updated_at, @moment::timestamptz), source.updated_at
FROM import_staging_consumers AS source
LEFT JOIN projects AS project ON project.id = source.project_id
    AND EXISTS (SELECT FROM import_staging_projects AS known WHERE known.id = source.project_id)
LEFT JOIN users AS owner ON owner.id = source.user_id
    AND EXISTS (SELECT FROM import_staging_users AS known WHERE known.id = source.user_id)
LEFT JOIN consumer_types AS type ON type.id = source.consumer_type_id
ORDER BY source.id;

-- Inserts the consumers that have allocations and are missing in the source. Runs after
-- ImportAdvanceSequences.
-- name: ImportWriteMissingConsumers :execrows
INSERT INTO consumers (uuid, generation, project_id, user_id, created_at)
SELECT missing.consumer_uuid, 1,
    (SELECT incomplete.id FROM projects AS incomplete WHERE incomplete.external_id = @project::text),
    (SELECT incomplete.id FROM users AS incomplete WHERE incomplete.external_id = @owner::text), @moment::timestamptz
FROM (
    SELECT allocation.consumer_uuid, min(allocation.id) AS first_id FROM import_staging_allocations AS allocation
    WHERE NOT EXISTS (SELECT FROM import_staging_consumers AS existing WHERE existing.uuid = allocation.consumer_uuid)
    GROUP BY allocation.consumer_uuid
) AS missing
ORDER BY missing.first_id;

-- name: ImportWriteAllocations :execrows
INSERT INTO allocations (consumer_id, provider_id, class_id, id, used, created_at) OVERRIDING SYSTEM VALUE
SELECT consumer.id, source.resource_provider_id, class.class_id, min(source.id), sum(source.used),
    COALESCE(max(source.created_at), max(source.updated_at), @moment::timestamptz)
FROM import_staging_allocations AS source
JOIN consumers AS consumer ON consumer.uuid = source.consumer_uuid
JOIN import_staging_resource_classes AS class ON class.id = source.resource_class_id
GROUP BY consumer.id, source.resource_provider_id, class.class_id
ORDER BY min(source.id);

-- Sets the sequences so that new ids follow the imported ones.
-- name: ImportAdvanceSequences :exec
SELECT
    setval(pg_get_serial_sequence('resource_classes', 'id'), greatest(9999, (SELECT max(target.id) FROM resource_classes AS target)) + 1, false),
    setval(pg_get_serial_sequence('traits', 'id'), COALESCE((SELECT max(target.id) FROM traits AS target), 0) + 1, false),
    setval(pg_get_serial_sequence('aggregates', 'id'), COALESCE((SELECT max(target.id) FROM aggregates AS target), 0) + 1, false),
    setval(pg_get_serial_sequence('projects', 'id'), COALESCE((SELECT max(target.id) FROM projects AS target), 0) + 1, false),
    setval(pg_get_serial_sequence('users', 'id'), COALESCE((SELECT max(target.id) FROM users AS target), 0) + 1, false),
    setval(pg_get_serial_sequence('consumer_types', 'id'), COALESCE((SELECT max(target.id) FROM consumer_types AS target), 0) + 1, false),
    setval(pg_get_serial_sequence('resource_providers', 'id'), COALESCE((SELECT max(target.id) FROM resource_providers AS target), 0) + 1, false),
    setval(pg_get_serial_sequence('consumers', 'id'), COALESCE((SELECT max(target.id) FROM consumers AS target), 0) + 1, false),
    setval(pg_get_serial_sequence('allocations', 'id'), COALESCE((SELECT max(target.id) FROM allocations AS target), 0) + 1, false);
