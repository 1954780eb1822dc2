-- Returns the state after the write of a dry run, and the name of the snapshot that it is read in: another connection
-- reads the state before in the same one. Called by Store.rehearse in the transaction of the write. See the function.
-- name: StateShowExported :one
SELECT
    pg_export_snapshot()::text AS snapshot,
    state_show(@providers::uuid[], @consumers::uuid[], @classes::text[], @traits::text[])::jsonb AS state;

-- Returns the state before the write of a dry run. Called by Store.rehearse in the snapshot of StateShowExported. See
-- the function.
-- name: StateShow :one
SELECT state_show(@providers::uuid[], @consumers::uuid[], @classes::text[], @traits::text[])::jsonb AS state;

-- Returns the providers on which consumers have allocations before the write of a dry run, which has locked the
-- consumers. Called by Store.rehearse. Locks nothing.
-- Plan: consumers_uuid_key, then ranges of allocations_pkey.
-- name: ConsumerProviderList :many
SELECT DISTINCT provider.uuid
FROM unnest(@consumers::uuid[]) AS requested (uuid)
CROSS JOIN LATERAL (SELECT one.id FROM consumers AS one WHERE one.uuid = requested.uuid OFFSET 0) AS consumer
CROSS JOIN LATERAL (
    SELECT allocation.provider_id FROM allocations AS allocation WHERE allocation.consumer_id = consumer.id OFFSET 0
) AS held
JOIN resource_providers AS provider ON provider.id = held.provider_id
ORDER BY provider.uuid;
