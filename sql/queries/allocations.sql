-- Returns all allocations of a consumer in the order of their creation, with the consumer's attributes
-- on every row. No row: it has no allocations.
-- Called by Store.AllocationList. Locks nothing.
-- Plan: consumers_uuid_key, then allocations_pkey and primary keys.
-- name: AllocationList :many
SELECT
    provider.uuid AS provider,
    generation_row.generation AS provider_generation,
    class.name AS class,
    allocation.used,
    allocation.created_at,
    project.external_id AS project_id,
    owner.external_id AS user_id,
    consumer.generation AS consumer_generation,
    type.name AS consumer_type,
    CASE WHEN consumer.leased THEN (
        SELECT lease_show(lease) FROM leases AS lease WHERE lease.consumer_id = consumer.id
    ) END::jsonb AS lease
FROM consumers AS consumer
JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
JOIN resource_providers AS provider ON provider.id = allocation.provider_id
JOIN provider_generations AS generation_row ON generation_row.provider_id = allocation.provider_id
JOIN resource_classes AS class ON class.id = allocation.class_id
JOIN projects AS project ON project.id = consumer.project_id
JOIN users AS owner ON owner.id = consumer.user_id
LEFT JOIN consumer_types AS type ON type.id = consumer.consumer_type_id
WHERE consumer.uuid = @consumer::uuid
ORDER BY allocation.id;

-- Returns a provider's generation and its allocations, oldest first. A provider without allocations is
-- one row with an empty class; no row: no such provider.
-- Called by Store.ProviderAllocationList. Locks nothing.
-- Plan: resource_providers_uuid_key, then allocations_provider_id_idx.
-- name: ProviderAllocationList :many
SELECT
    generation_row.generation,
    COALESCE(class.name, '')::text AS class,
    COALESCE(allocation.used, 0)::bigint AS used,
    COALESCE(allocation.created_at, now())::timestamptz AS created_at,
    consumer.uuid AS consumer,
    COALESCE(consumer.generation, 0)::bigint AS consumer_generation
FROM resource_providers AS provider
JOIN provider_generations AS generation_row ON generation_row.provider_id = provider.id
LEFT JOIN allocations AS allocation ON allocation.provider_id = provider.id
LEFT JOIN resource_classes AS class ON class.id = allocation.class_id
LEFT JOIN consumers AS consumer ON consumer.id = allocation.consumer_id
WHERE provider.uuid = @provider::uuid
ORDER BY allocation.id;

-- PUT /allocations/{consumer_uuid} and POST /allocations. See the functions. leases is null if the request gives none.
-- name: AllocationReplace :exec
SELECT CASE WHEN sqlc.narg('leases')::jsonb IS NOT NULL THEN lease_write(@consumers::uuid[], sqlc.narg('leases')) END
FROM allocation_replace(
    @consumers::uuid[], @projects::text[], @users::text[], @types::text[],
    @check_generations::bool, @generations::bigint[], @unseen::bool[],
    @owners::int[], @providers::uuid[], @classes::text[], @amounts::bigint[]);

-- DELETE /allocations/{consumer_uuid}. See the function.
-- name: AllocationDelete :one
SELECT allocation_delete_checked(@consumer::uuid, sqlc.narg('generation')::bigint)::bool AS existed;

-- POST /reshaper. See the functions. leases is null if the request gives none.
-- name: Reshape :exec
SELECT CASE WHEN sqlc.narg('leases')::jsonb IS NOT NULL THEN lease_write(@consumers::uuid[], sqlc.narg('leases')) END
FROM reshape(
    @inventories::jsonb,
    @consumers::uuid[], @projects::text[], @users::text[], @types::text[],
    @check_generations::bool, @generations::bigint[], @unseen::bool[],
    @owners::int[], @providers::uuid[], @classes::text[], @amounts::bigint[]);

-- PATCH /allocations/{consumer_uuid}, in one round trip with the allocations of the response. See the function.
-- name: AllocationPatch :many
SELECT
    patched.provider::uuid AS provider,
    patched.provider_generation::bigint AS provider_generation,
    patched.class::text AS class,
    patched.used::bigint AS used,
    patched.project_id::text AS project_id,
    patched.user_id::text AS user_id,
    patched.generation::bigint AS consumer_generation,
    patched.type::text AS consumer_type,
    patched.lease::jsonb AS lease
FROM allocation_patch_leased(
    @consumer::uuid, sqlc.narg('given')::bigint,
    sqlc.narg('project')::text, sqlc.narg('owner')::text, sqlc.narg('type')::text,
    @providers::uuid[], @classes::text[], @amounts::bigint[], sqlc.narg('changed_lease')::jsonb)
    AS patched (position, provider, provider_generation, class, used, project_id, user_id, generation, type, lease)
ORDER BY patched.position;

-- PATCH /reshaper, in one round trip with the new generations. See the functions. key is null without an idempotency key.
-- name: ReshapePatch :one
SELECT idempotency_end(sqlc.narg('caller')::text, sqlc.narg('key')::text, reshape_patch(
    @inventories::jsonb,
    @consumers::uuid[], @projects::text[], @users::text[], @types::text[], @generations::bigint[], @unseen::bool[],
    @removed::bool[], @owners::int[], @providers::uuid[], @classes::text[], @amounts::bigint[]))::jsonb AS result;

-- POST /claims with queries, for one consumer, in one round trip. See the functions. contexts is a JSON array with what the response
-- to a repetition needs of each candidate; key and contexts are null without an idempotency key. leases is null if the request
-- gives none and no consumer can have one. The write of leases comes after the aggregate, and so after the function.
-- name: ClaimCreate :one
SELECT idempotency_end(sqlc.narg('caller')::text, sqlc.narg('key')::text, jsonb_build_object('rows', jsonb_agg(claimed), 'leases',
    CASE WHEN sqlc.narg('leases')::jsonb IS NOT NULL THEN lease_write(@consumers::uuid[], sqlc.narg('leases')) END,
    'context', sqlc.narg('contexts')::jsonb -> (max(claimed.chosen) - 1)))::jsonb AS result
FROM claim_create(
    @consumers::uuid[], @projects::text[], @users::text[], @types::text[], sqlc.narg('generation')::bigint,
    @ends::int[], @providers::bigint[], @classes::int[], @amounts::bigint[],
    @guard_ends::int[], @guards::bigint[], @revisions::bigint[],
    @link_ends::int[], @anchors::bigint[], @shared::bigint[], false) AS claimed;

-- POST /claims with candidates. See the functions. key is null without an idempotency key.
-- name: ClaimCreateNamed :one
SELECT idempotency_end(sqlc.narg('caller')::text, sqlc.narg('key')::text,
    jsonb_build_object('rows', jsonb_agg(claimed), 'leases',
        CASE WHEN sqlc.narg('leases')::jsonb IS NOT NULL THEN lease_write(@consumers::uuid[], sqlc.narg('leases')) END))::jsonb AS result
FROM claim_create_named(
    @consumers::uuid[], @projects::text[], @users::text[], @types::text[], sqlc.narg('generation')::bigint,
    @ends::int[], @providers::uuid[], @classes::text[], @amounts::bigint[]) AS claimed;

-- POST /claims with queries, for several consumers. See the functions and ClaimCreate.
-- name: ClaimCreateMany :one
SELECT idempotency_end(sqlc.narg('caller')::text, sqlc.narg('key')::text, jsonb_build_object('rows', jsonb_agg(claimed), 'leases',
    CASE WHEN sqlc.narg('leases')::jsonb IS NOT NULL THEN lease_write(@consumers::uuid[], sqlc.narg('leases')) END,
    'context', sqlc.narg('contexts')::jsonb))::jsonb AS result
FROM claim_create_many(
    @consumers::uuid[], @projects::text[], @users::text[], @types::text[],
    @owners::int[], @providers::bigint[], @classes::int[], @amounts::bigint[],
    @guards::bigint[], @revisions::bigint[], @anchors::bigint[], @shared::bigint[]) AS claimed;

-- Returns the generation of each consumer that exists, and its allocations in the order of the ids of
-- providers and classes. POST /claims compares them in the snapshot of a search.
-- Called by Store.ClaimConsumerList and Store.ClaimConsumerListIn. Locks nothing.
-- Plan: consumers_uuid_key, then allocations_pkey.
-- name: ClaimConsumerList :many
SELECT
    consumer.uuid AS consumer,
    consumer.generation,
    allocation.provider_id,
    allocation.class_id,
    allocation.used
FROM consumers AS consumer
JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
WHERE consumer.uuid = ANY (@consumers::uuid[])
ORDER BY consumer.uuid, allocation.provider_id, allocation.class_id;
