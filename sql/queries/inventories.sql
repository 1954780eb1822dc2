-- Returns a provider's generation and its inventories in the order of their classes. A provider
-- without inventories is one row whose class is empty; no row: no such provider.
-- Called by Store.InventoryList. Locks nothing.
-- Plan: resource_providers_uuid_key, then inventories_pkey.
-- name: InventoryList :many
SELECT
    generation_row.generation,
    COALESCE(class.name, '')::text AS class,
    COALESCE(inventory.total, 0)::int AS total,
    COALESCE(inventory.reserved, 0)::int AS reserved,
    COALESCE(inventory.min_unit, 0)::int AS min_unit,
    COALESCE(inventory.max_unit, 0)::int AS max_unit,
    COALESCE(inventory.step_size, 0)::int AS step_size,
    COALESCE(inventory.allocation_ratio, 0)::float8 AS allocation_ratio,
    COALESCE(inventory.used, 0)::bigint AS used,
    COALESCE(inventory.updated_at, inventory.created_at, now())::timestamptz AS modified_at
FROM resource_providers AS provider
JOIN provider_generations AS generation_row ON generation_row.provider_id = provider.id
LEFT JOIN inventories AS inventory ON inventory.provider_id = provider.id
LEFT JOIN resource_classes AS class ON class.id = inventory.class_id
WHERE provider.uuid = @provider::uuid
ORDER BY inventory.class_id;

-- PUT /resource_providers/{uuid}/inventories. See the function.
-- name: InventoryReplace :one
SELECT inventory_replace(
    @provider::uuid, @generation::bigint, @records::jsonb, @min_capacity::int)::bigint AS generation;

-- DELETE /resource_providers/{uuid}/inventories. See the function.
-- name: InventoryClear :one
SELECT inventory_delete_all_checked(@provider::uuid, sqlc.narg('given')::bigint)::bigint AS generation;

-- POST /resource_providers/{uuid}/inventories. See the function.
-- name: InventoryCreate :one
SELECT inventory_create_checked(
    @provider::uuid, sqlc.narg('given')::bigint, @record::jsonb, @min_capacity::int)::bigint AS generation;

-- PUT /resource_providers/{uuid}/inventories/{class}. See the function.
-- name: InventoryUpdate :one
SELECT inventory_update(
    @provider::uuid, @generation::bigint, @record::jsonb, @min_capacity::int)::bigint AS generation;

-- DELETE /resource_providers/{uuid}/inventories/{class}. See the function.
-- name: InventoryDelete :one
SELECT inventory_delete_checked(@provider::uuid, sqlc.narg('given')::bigint, @class::text)::bigint AS generation;

-- PATCH /resource_providers/{uuid}/inventories, in one round trip with the inventories of the response. See the function.
-- name: InventoryPatch :many
SELECT
    patched.generation::bigint AS generation,
    patched.class::text AS class,
    patched.total::int AS total,
    patched.reserved::int AS reserved,
    patched.min_unit::int AS min_unit,
    patched.max_unit::int AS max_unit,
    patched.step_size::int AS step_size,
    patched.allocation_ratio::float8 AS allocation_ratio
FROM inventory_patch(
    @provider::uuid, sqlc.narg('given')::bigint, @records::jsonb, @removed::text[], @min_capacity::int)
    AS patched (generation, position, class, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
ORDER BY patched.position;
