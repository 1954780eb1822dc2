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
