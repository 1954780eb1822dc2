-- One provider with the uuids of its parent and root, for GET and after writes.
-- Called by Store.ProviderShow. Locks nothing.
-- Plan: resource_providers_uuid_key, then primary keys.
-- name: ProviderShow :one
SELECT
    provider.uuid,
    provider.name,
    held.generation,
    parent.uuid AS parent_uuid,
    root.uuid AS root_uuid,
    GREATEST(held.updated_at, provider.created_at)::timestamptz AS modified_at
FROM resource_providers AS provider
JOIN provider_generations AS held ON held.provider_id = provider.id
JOIN resource_providers AS root ON root.id = provider.root_id
LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
WHERE provider.uuid = @provider::uuid;

-- All providers that pass the filters, in id order, with the time of the newest
-- on every row. Called by Store.ProviderList, which streams the rows.
--
-- driver names the filter whose index leads; each branch of start has a constant
-- condition, so that in one prepared statement only one of them runs. The other
-- filters are asked of each provider that comes out of it. Trait and aggregate
-- sets arrive as JSON arrays of arrays of ids: any of the inner, all of the outer.
-- Plan: one index scan of resource_providers (name, uuid, root), inventories
-- (class_id, free), provider_traits (trait_id) or provider_aggregates
-- (aggregate_id), then primary keys; a walk of resource_providers_pkey without
-- a filter. Never a scan of inventories.
-- name: ProviderList :many
WITH start AS (
    SELECT provider.id FROM resource_providers AS provider
    WHERE @driver::text = 'uuid' AND provider.uuid = sqlc.narg('uuid')::uuid
    UNION ALL
    SELECT provider.id FROM resource_providers AS provider
    WHERE @driver::text = 'name' AND provider.name = sqlc.narg('name')::text
    UNION ALL
    SELECT provider.id FROM resource_providers AS provider
    WHERE @driver::text = 'in_tree' AND provider.root_id = (
        SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = sqlc.narg('in_tree')::uuid)
    UNION ALL
    SELECT inventory.provider_id FROM inventories AS inventory
    WHERE @driver::text = 'resources'
      AND inventory.class_id = (@class_ids::int[])[1] AND inventory.free >= (@amounts::bigint[])[1]
    UNION ALL
    SELECT DISTINCT member.provider_id
    FROM jsonb_array_elements_text(@member_of::jsonb -> 0) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT one.provider_id FROM provider_aggregates AS one WHERE one.aggregate_id = wanted.id::int OFFSET 0
    ) AS member
    WHERE @driver::text = 'member_of'
    UNION ALL
    SELECT DISTINCT present.provider_id
    FROM jsonb_array_elements_text(@required::jsonb -> 0) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT one.provider_id FROM provider_traits AS one WHERE one.trait_id = wanted.id::int OFFSET 0
    ) AS present
    WHERE @driver::text = 'required'
    UNION ALL
    SELECT provider.id FROM resource_providers AS provider
    WHERE @driver::text = 'none'
)
SELECT
    provider.uuid,
    provider.name,
    held.generation,
    -- none or one
    ARRAY(SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = provider.parent_id)::uuid[] AS parent_uuid,
    root.uuid AS root_uuid,
    max(GREATEST(held.updated_at, provider.created_at)) OVER ()::timestamptz AS newest
FROM start
    -- OFFSET 0 keeps these look-ups by key: the planner takes start for as large
    -- as all its branches together, and would rather scan and hash.
CROSS JOIN LATERAL (
    SELECT one.id, one.uuid, one.name, one.root_id, one.parent_id, one.created_at
    FROM resource_providers AS one WHERE one.id = start.id OFFSET 0
) AS provider
CROSS JOIN LATERAL (
    SELECT one.generation, one.updated_at FROM provider_generations AS one WHERE one.provider_id = start.id OFFSET 0
) AS held
CROSS JOIN LATERAL (SELECT one.uuid FROM resource_providers AS one WHERE one.id = provider.root_id OFFSET 0) AS root
WHERE (sqlc.narg('uuid')::uuid IS NULL OR provider.uuid = sqlc.narg('uuid')::uuid)
  AND (sqlc.narg('name')::text IS NULL OR provider.name = sqlc.narg('name')::text)
  AND (sqlc.narg('in_tree')::uuid IS NULL OR provider.root_id = (
        SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = sqlc.narg('in_tree')::uuid))
  AND (cardinality(@class_ids::int[]) = 0 OR NOT EXISTS (
        SELECT FROM generate_subscripts(@class_ids::int[], 1) AS wanted (place)
        LEFT JOIN inventories AS inventory
            ON inventory.provider_id = provider.id
            AND inventory.class_id = (@class_ids::int[])[wanted.place]
            AND inventory.free >= (@amounts::bigint[])[wanted.place]
            AND inventory.min_unit <= (@amounts::bigint[])[wanted.place]
            AND (@amounts::bigint[])[wanted.place] % inventory.step_size = 0
        WHERE inventory.provider_id IS NULL))
  AND (@member_of::jsonb = '[]' OR NOT EXISTS (
        SELECT FROM jsonb_array_elements(@member_of::jsonb) AS wanted (ids)
        WHERE NOT EXISTS (
            SELECT FROM provider_aggregates AS member
            WHERE member.provider_id = provider.id
              AND member.aggregate_id IN (SELECT jsonb_array_elements_text(wanted.ids)::int))))
  AND (@required::jsonb = '[]' OR NOT EXISTS (
        SELECT FROM jsonb_array_elements(@required::jsonb) AS wanted (ids)
        WHERE NOT EXISTS (
            SELECT FROM provider_traits AS present
            WHERE present.provider_id = provider.id
              AND present.trait_id IN (SELECT jsonb_array_elements_text(wanted.ids)::int))))
  AND NOT EXISTS (
        SELECT FROM provider_aggregates AS member
        WHERE member.provider_id = provider.id AND member.aggregate_id = ANY (@not_member_of::int[]))
  AND NOT EXISTS (
        SELECT FROM provider_traits AS present
        WHERE present.provider_id = provider.id AND present.trait_id = ANY (@forbidden::int[]))
ORDER BY provider.id;

-- What the names in a provider list's filters are, in one answer: ids of traits,
-- aggregates and classes (null for those that don't exist), whether the in_tree
-- provider exists, and how many providers have all the required traits.
-- Called by Store.ProviderList if its filters have names. Locks nothing.
-- Plan: unique keys only.
-- name: ProviderListNames :one
SELECT
    ARRAY(
        SELECT COALESCE(trait.id, -1)
        FROM unnest(@traits::text[]) WITH ORDINALITY AS wanted (name, place)
        LEFT JOIN traits AS trait ON trait.name = wanted.name
        ORDER BY wanted.place
    )::int[] AS trait_ids,
    ARRAY(
        SELECT COALESCE(aggregate.id, -1)
        FROM unnest(@aggregates::uuid[]) WITH ORDINALITY AS wanted (uuid, place)
        LEFT JOIN aggregates AS aggregate ON aggregate.uuid = wanted.uuid
        ORDER BY wanted.place
    )::int[] AS aggregate_ids,
    ARRAY(
        SELECT COALESCE(class.id, -1)
        FROM unnest(@classes::text[]) WITH ORDINALITY AS wanted (name, place)
        LEFT JOIN resource_classes AS class ON class.name = wanted.name
        ORDER BY wanted.place
    )::int[] AS class_ids,
    EXISTS (
        SELECT FROM resource_providers AS member WHERE member.uuid = sqlc.narg('in_tree')::uuid
    )::bool AS in_tree_exists;

-- Whether any provider has a trait of each of the sets (JSON array of arrays of
-- ids). Called by Store.ProviderList where a later name is unknown: the answer
-- decides between an error and an empty list.
-- Plan: provider_traits_trait_id_idx.
-- name: ProviderListAnyHasTraits :one
SELECT EXISTS (
    SELECT
    FROM jsonb_array_elements_text(@required::jsonb -> 0) AS lead (id)
    CROSS JOIN LATERAL (
        SELECT one.provider_id FROM provider_traits AS one WHERE one.trait_id = lead.id::int OFFSET 0
    ) AS first
    WHERE NOT EXISTS (
        SELECT FROM jsonb_array_elements(@required::jsonb) AS wanted (ids)
        WHERE NOT EXISTS (
            SELECT FROM provider_traits AS present
            WHERE present.provider_id = first.provider_id
              AND present.trait_id IN (SELECT jsonb_array_elements_text(wanted.ids)::int)))
)::bool AS any_has;

-- POST /resource_providers. See the function.
-- name: ProviderCreate :one
SELECT provider_create(@provider::uuid, @name::text, sqlc.narg('parent')::uuid)::uuid AS root_uuid;

-- PUT /resource_providers/{uuid}. See the function. What may be null comes as an
-- array of none or one, since sqlc takes a function's columns for NOT NULL.
-- name: ProviderUpdate :one
SELECT
    changed.generation::bigint AS generation,
    array_remove(ARRAY[changed.parent_uuid], NULL)::uuid[] AS parent_uuid,
    changed.root_uuid::uuid AS root_uuid,
    array_remove(ARRAY[changed.updated_before], NULL)::timestamptz[] AS updated_before
FROM provider_update(@provider::uuid, @name::text, @set_parent::bool, sqlc.narg('parent')::uuid, @may_reparent::bool)
    AS changed (generation, parent_uuid, root_uuid, updated_before);

-- DELETE /resource_providers/{uuid}. See the function.
-- name: ProviderDelete :exec
SELECT provider_delete(@provider::uuid);
