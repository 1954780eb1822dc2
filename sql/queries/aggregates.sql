-- Returns a provider's generation and its aggregates, oldest first. A provider without aggregates is
-- one row without UUID; no row: no such provider.
-- Called by Store.ProviderAggregateList. Locks nothing.
-- Plan: resource_providers_uuid_key, then provider_aggregates_pkey.
-- name: ProviderAggregateList :many
SELECT generation_row.generation, aggregate.uuid
FROM resource_providers AS provider
JOIN provider_generations AS generation_row ON generation_row.provider_id = provider.id
LEFT JOIN provider_aggregates AS member ON member.provider_id = provider.id
LEFT JOIN aggregates AS aggregate ON aggregate.id = member.aggregate_id
WHERE provider.uuid = @provider::uuid
ORDER BY member.aggregate_id;

-- PUT /resource_providers/{uuid}/aggregates. See the function.
-- name: ProviderAggregateReplace :one
SELECT provider_aggregates_replace(
    @provider::uuid, sqlc.narg('generation')::bigint, @aggregates::uuid[])::bigint AS generation;

-- PATCH /resource_providers/{uuid}/aggregates, in one round trip with the aggregates of the response. See the function.
-- name: ProviderAggregatePatch :many
SELECT patched.generation::bigint AS generation, patched.position::bigint AS position, patched.uuid::uuid AS uuid
FROM provider_aggregates_patch(@provider::uuid, sqlc.narg('given')::bigint, @added::uuid[], @removed::uuid[])
    AS patched (generation, position, uuid)
ORDER BY patched.position;
