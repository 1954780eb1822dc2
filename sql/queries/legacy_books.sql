-- The books of an import: begun, how far, finished; and what it may write over.

-- What the books say. No row: there never was an import.
-- Called by legacy.Import and the start of a server. Locks nothing.
-- Plan: the only row.
-- name: LegacyImportShow :one
SELECT source, fingerprint, began_at, finished_at, digests, traits, resource_classes
FROM legacy_imports;

-- A new import begins. What is known of an earlier one, whose rows are still there,
-- stays. Called by legacy.Import, with legacy_positions empty. Locks the only row.
-- name: LegacyImportBegin :exec
INSERT INTO legacy_imports (source, fingerprint) VALUES (@source::text, @fingerprint::text)
ON CONFLICT (only_row) DO UPDATE
SET source = excluded.source, fingerprint = excluded.fingerprint, began_at = now(), finished_at = NULL;

-- An import was refused: the books say again what they said before.
-- Called by legacy.Import. Locks the only row.
-- name: LegacyImportRestore :exec
UPDATE legacy_imports
SET source = @source::text, fingerprint = @fingerprint::text, began_at = @began_at::timestamptz,
    finished_at = sqlc.narg('finished_at')::timestamptz;

-- The same, where there had been no import. Locks the only row.
-- name: LegacyImportForget :exec
DELETE FROM legacy_imports;

-- The import is done. Called by legacy.Import at the end of its transaction, with the
-- names that were added. Locks the only row.
-- name: LegacyImportFinish :exec
UPDATE legacy_imports
SET finished_at = clock_timestamp(), digests = @digests::jsonb, traits = @traits::text[], resource_classes = @resource_classes::text[];

-- How far the tables are copied. Called by legacy.Import. Locks nothing.
-- name: LegacyPositionList :many
SELECT table_name, row_count, first_key, second_key FROM legacy_positions ORDER BY table_name;

-- A piece of a table is copied. Called by legacy.Import in the transaction that copies.
-- name: LegacyPositionSave :exec
INSERT INTO legacy_positions (table_name, row_count, first_key, second_key)
VALUES (@table_name::text, @row_count::bigint, @first_key::bigint, @second_key::bigint)
ON CONFLICT (table_name) DO UPDATE
SET row_count = legacy_positions.row_count + excluded.row_count, first_key = excluded.first_key, second_key = excluded.second_key;

-- Forgets what was copied. Called by legacy.Import. Locks these tables only.
-- name: LegacyStagingClear :exec
TRUNCATE legacy_positions, legacy_resource_classes, legacy_traits, legacy_aggregates, legacy_projects, legacy_users,
    legacy_consumer_types, legacy_resource_providers, legacy_provider_traits, legacy_provider_aggregates,
    legacy_inventories, legacy_consumers, legacy_allocations;

-- So that the judgement is planned with the right numbers. Called by legacy.Import.
-- name: LegacyStagingAnalyze :exec
ANALYZE legacy_resource_classes, legacy_traits, legacy_aggregates, legacy_projects, legacy_users,
    legacy_consumer_types, legacy_resource_providers, legacy_provider_traits, legacy_provider_aggregates,
    legacy_inventories, legacy_consumers, legacy_allocations;

-- What every request is planned with. Called by legacy.Import at its end.
-- name: LegacyTargetAnalyze :exec
ANALYZE resource_classes, traits, aggregates, resource_providers, provider_generations, provider_traits,
    provider_aggregates, inventories, projects, users, consumer_types, consumers, allocations;

-- Only one import at a time. Called by legacy.Import, on the connection that it keeps.
-- name: LegacyLock :one
SELECT pg_try_advisory_lock(hashtextextended('berth import', 0))::bool AS locked;

-- Nobody writes while an import does. Waits for those who are writing.
-- Called by legacy.Import at the beginning of its transaction.
-- name: LegacyTargetLock :exec
LOCK TABLE resource_classes, traits, aggregates, resource_providers, provider_generations, provider_traits,
    provider_aggregates, inventories, projects, users, consumer_types, consumers, allocations IN SHARE ROW EXCLUSIVE MODE;

-- How much is in the target that a fresh service would not have. Names that begin
-- with CUSTOM_ are somebody's.
-- Called by legacy.Import. Locks nothing. Plan: stops at the first row of each table.
-- name: LegacyTargetOccupied :many
SELECT held.name::text AS name
FROM (
    SELECT 'resource_providers' AS name WHERE EXISTS (SELECT FROM resource_providers)
    UNION ALL SELECT 'consumers' WHERE EXISTS (SELECT FROM consumers)
    UNION ALL SELECT 'aggregates' WHERE EXISTS (SELECT FROM aggregates)
    UNION ALL SELECT 'projects' WHERE EXISTS (SELECT FROM projects)
    UNION ALL SELECT 'users' WHERE EXISTS (SELECT FROM users)
    UNION ALL SELECT 'consumer_types' WHERE EXISTS (SELECT FROM consumer_types)
    UNION ALL SELECT 'traits' WHERE EXISTS (SELECT FROM traits AS trait WHERE trait.name LIKE 'CUSTOM\_%')
    UNION ALL SELECT 'resource_classes' WHERE EXISTS (SELECT FROM resource_classes AS class WHERE class.name LIKE 'CUSTOM\_%')
) AS held
ORDER BY held.name;

-- Takes back what an earlier import wrote, which nobody has changed since.
-- Called by legacy.Import in its transaction. Locks the tables out.
-- name: LegacyTargetClear :exec
TRUNCATE allocations, consumers, consumer_types, projects, users, inventories, provider_aggregates, provider_traits,
    provider_generations, resource_providers, aggregates;

-- Takes back the names that an earlier import added.
-- name: LegacyNamesClear :exec
WITH gone AS (
    DELETE FROM traits AS trait WHERE trait.name = ANY (@traits::text[])
)
DELETE FROM resource_classes AS class WHERE class.name = ANY (@resource_classes::text[]);

-- name: LegacyOddityClear :exec
TRUNCATE legacy_oddities RESTART IDENTITY;

-- How much of each kind is odd. Called by legacy.Import. Locks nothing.
-- Plan: legacy_oddities_kind_idx.
-- name: LegacyOddityCount :many
SELECT oddity.kind, count(*)::bigint AS number FROM legacy_oddities AS oddity GROUP BY oddity.kind ORDER BY oddity.kind;

-- What is odd, of each kind the first few (rank) or everything.
-- Called by legacy.Import; read as it comes. Locks nothing. Plan: legacy_oddities_kind_idx.
-- name: LegacyOddityList :many
SELECT listed.kind, listed.found
FROM (
    SELECT oddity.kind, oddity.found, oddity.id, row_number() OVER (PARTITION BY oddity.kind ORDER BY oddity.id) AS rank
    FROM legacy_oddities AS oddity
) AS listed
WHERE listed.rank <= @most::bigint
ORDER BY listed.kind, listed.id;
