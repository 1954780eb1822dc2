-- The state of the import: whether it has begun or finished, how far it has copied, and what it may
-- replace.

-- Returns the state of the import. No row: there was no import.
-- Called by the import and at the start of a server. Locks nothing.
-- Plan: the only row.
-- name: ImportStateShow :one
SELECT source, fingerprint, began_at, finished_at, digests, traits, resource_classes
FROM import_state;

-- Records the start of an import. Keeps the digests and names of an earlier import, whose rows are
-- still in the tables. Called by the import. Locks the only row.
-- name: ImportStateBegin :exec
INSERT INTO import_state (source, fingerprint) VALUES (@source::text, @fingerprint::text)
ON CONFLICT (only_row) DO UPDATE
SET source = excluded.source, fingerprint = excluded.fingerprint, began_at = now(), finished_at = NULL;

-- Restores the state before an import that was rejected.
-- Called by the import. Locks the only row.
-- name: ImportStateRestore :exec
UPDATE import_state
SET source = @source::text, fingerprint = @fingerprint::text, began_at = @began_at::timestamptz,
    finished_at = sqlc.narg('finished_at')::timestamptz;

-- Deletes the state after a rejected import, if there was none before. Locks the only row.
-- name: ImportStateDelete :exec
DELETE FROM import_state;

-- Records the end of the import, with the names that it added. Called by the import at the end of its
-- transaction. Locks the only row.
-- name: ImportStateFinish :exec
UPDATE import_state
SET finished_at = clock_timestamp(), digests = @digests::jsonb, traits = @traits::text[], resource_classes = @resource_classes::text[];

-- Returns how far an import with this fingerprint has copied each table. Called by the import, if
-- there are staging tables. Locks nothing.
-- name: ImportPositionList :many
SELECT table_name, row_count, first_key, second_key FROM import_positions
WHERE fingerprint = @fingerprint::text ORDER BY table_name;

-- Records that a part of a table is copied. Called by the import in the transaction that copies.
-- name: ImportPositionSave :exec
INSERT INTO import_positions (table_name, fingerprint, row_count, first_key, second_key)
VALUES (@table_name::text, @fingerprint::text, @row_count::bigint, @first_key::bigint, @second_key::bigint)
ON CONFLICT (table_name) DO UPDATE
SET row_count = import_positions.row_count + excluded.row_count, first_key = excluded.first_key, second_key = excluded.second_key;

-- Returns whether the schema of the staging tables exists, whether it has tables, whether the role may
-- create it, the role, and the search path of the session. Called by the import. Locks nothing.
-- name: ImportStagingShow :one
SELECT (to_regnamespace('berth_import') IS NOT NULL)::bool AS has_schema,
    (to_regclass('berth_import.import_positions') IS NOT NULL)::bool AS has_tables,
    has_database_privilege(current_database(), 'CREATE')::bool AS may_create,
    current_user::text AS role,
    current_setting('search_path')::text AS search_path;

-- Sets the search path for the transaction (is_local) or the session. Called by the import.
-- name: ImportSearchPath :exec
SELECT set_config('search_path', @search_path::text, @is_local::bool);

-- Called by the import before it creates the staging tables.
-- name: ImportStagingSchemaCreate :exec
CREATE SCHEMA berth_import;

-- Called by the import before it creates the staging tables, and at its end. Locks these tables only.
-- name: ImportStagingDrop :exec
DROP TABLE IF EXISTS berth_import.import_positions, berth_import.import_staging_resource_classes,
    berth_import.import_staging_traits, berth_import.import_staging_aggregates, berth_import.import_staging_projects,
    berth_import.import_staging_users, berth_import.import_staging_consumer_types,
    berth_import.import_staging_resource_providers, berth_import.import_staging_provider_traits,
    berth_import.import_staging_provider_aggregates, berth_import.import_staging_inventories,
    berth_import.import_staging_consumers, berth_import.import_staging_allocations;

-- Called by the import at its end.
-- name: ImportStagingSchemaDrop :exec
DROP SCHEMA berth_import;

-- Updates the planner statistics for the validation. Called by the import.
-- name: ImportStagingAnalyze :exec
ANALYZE import_staging_resource_classes, import_staging_traits, import_staging_aggregates, import_staging_projects, import_staging_users,
    import_staging_consumer_types, import_staging_resource_providers, import_staging_provider_traits, import_staging_provider_aggregates,
    import_staging_inventories, import_staging_consumers, import_staging_allocations;

-- Updates the planner statistics for all requests. Called by the import at its end.
-- name: ImportTargetAnalyze :exec
ANALYZE resource_classes, traits, aggregates, resource_providers, provider_generations, provider_traits,
    provider_aggregates, inventories, projects, users, consumer_types, consumers, allocations;

-- Locks out other imports. Called by the import, on the connection that it keeps.
-- name: ImportLock :one
SELECT pg_try_advisory_lock(hashtextextended('berth import', 0))::bool AS locked;

-- See the functions; is_switched is from before the call. Called by the import before it writes: the record of changes does not have
-- its rows.
-- name: ImportHistoryEnd :one
SELECT history_import()::bool AS was_on, history_is_switched()::bool AS is_switched;

-- Blocks all writers during the import, and waits for writing transactions to end.
-- Called by the import at the beginning of its transaction.
-- name: ImportTargetLock :exec
LOCK TABLE resource_classes, traits, aggregates, resource_providers, provider_generations, provider_traits,
    provider_aggregates, inventories, projects, users, consumer_types, consumers, allocations IN SHARE ROW EXCLUSIVE MODE;

-- Returns which tables of the target contain rows that a new deployment does not have. Names that
-- begin with CUSTOM_ belong to clients.
-- Called by the import. Locks nothing. Plan: stops at the first row of each table.
-- name: ImportTargetRows :many
SELECT occupied.name::text AS name
FROM (
    SELECT 'resource_providers' AS name WHERE EXISTS (SELECT FROM resource_providers)
    UNION ALL SELECT 'consumers' WHERE EXISTS (SELECT FROM consumers)
    UNION ALL SELECT 'aggregates' WHERE EXISTS (SELECT FROM aggregates)
    UNION ALL SELECT 'projects' WHERE EXISTS (SELECT FROM projects)
    UNION ALL SELECT 'users' WHERE EXISTS (SELECT FROM users)
    UNION ALL SELECT 'consumer_types' WHERE EXISTS (SELECT FROM consumer_types)
    UNION ALL SELECT 'traits' WHERE EXISTS (SELECT FROM traits AS trait WHERE trait.name LIKE 'CUSTOM\_%')
    UNION ALL SELECT 'resource_classes' WHERE EXISTS (SELECT FROM resource_classes AS class WHERE class.name LIKE 'CUSTOM\_%')
) AS occupied
ORDER BY occupied.name;

-- Deletes the rows of an earlier import, which no client has changed since.
-- Called by the import in its transaction. Locks the tables in ACCESS EXCLUSIVE mode.
-- name: ImportTargetClear :exec
TRUNCATE allocations, consumers, consumer_types, projects, users, inventories, tree_classes, provider_aggregates, provider_traits,
    provider_generations, resource_providers, aggregates;

-- Deletes the names that an earlier import added.
-- name: ImportNamesClear :exec
WITH deleted AS (
    DELETE FROM traits AS trait WHERE trait.name = ANY (@traits::text[])
)
DELETE FROM resource_classes AS class WHERE class.name = ANY (@resource_classes::text[]);

-- name: ImportAnomalyClear :exec
TRUNCATE import_anomalies RESTART IDENTITY;

-- Returns the number of anomalies of each kind. Called by the import. Locks nothing.
-- Plan: import_anomalies_kind_idx.
-- name: ImportAnomalyCount :many
SELECT anomaly.kind, count(*)::bigint AS number FROM import_anomalies AS anomaly GROUP BY anomaly.kind ORDER BY anomaly.kind;

-- Returns the anomalies, of each kind the first max_rows.
-- Called by the import, which streams the rows. Locks nothing. Plan: import_anomalies_kind_idx.
-- name: ImportAnomalyList :many
SELECT listed.kind, listed.source_row
FROM (
    SELECT anomaly.kind, anomaly.source_row, anomaly.id, row_number() OVER (PARTITION BY anomaly.kind ORDER BY anomaly.id) AS rank
    FROM import_anomalies AS anomaly
) AS listed
WHERE listed.rank <= @max_rows::bigint
ORDER BY listed.kind, listed.id;
