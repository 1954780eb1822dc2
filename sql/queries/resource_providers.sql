-- Returns one provider with the UUIDs of its parent and root, for GET and after writes.
-- Called by Store.ProviderShow. Locks nothing.
-- Plan: resource_providers_uuid_key, then primary keys.
-- name: ProviderShow :one
SELECT
    provider.uuid,
    provider.name,
    generation_row.generation,
    parent.uuid AS parent_uuid,
    root.uuid AS root_uuid,
    GREATEST(generation_row.updated_at, provider.created_at)::timestamptz AS modified_at
FROM resource_providers AS provider
JOIN provider_generations AS generation_row ON generation_row.provider_id = provider.id
JOIN resource_providers AS root ON root.id = provider.root_id
LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
WHERE provider.uuid = @provider::uuid;

-- Returns all providers that pass the filters, in the order of their ids, with the time of the newest
-- on every row. Called by Store.ProviderList, which streams the rows.
--
-- leading_filter names the filter whose index finds the providers. Each branch of start has a constant
-- condition, so that in one prepared statement only one of them runs. The other filters are checked
-- for each provider of that branch. Sets of traits and aggregates are JSON arrays of arrays of ids:
-- any of the inner, all of the outer.
-- Plan: one index scan of resource_providers (name, uuid, root), inventories (class_id, free),
-- provider_traits (trait_id) or provider_aggregates (aggregate_id), then primary keys; a walk of
-- resource_providers_pkey without a filter. Never a scan of inventories.
-- name: ProviderList :many
WITH start AS (
    SELECT provider.id FROM resource_providers AS provider
    WHERE @leading_filter::text = 'uuid' AND provider.uuid = sqlc.narg('uuid')::uuid
    UNION ALL
    SELECT provider.id FROM resource_providers AS provider
    WHERE @leading_filter::text = 'name' AND provider.name = sqlc.narg('name')::text
    UNION ALL
    SELECT provider.id FROM resource_providers AS provider
    WHERE @leading_filter::text = 'in_tree' AND provider.root_id = (
        SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = sqlc.narg('in_tree')::uuid)
    UNION ALL
    SELECT inventory.provider_id FROM inventories AS inventory
    WHERE @leading_filter::text = 'resources'
      AND inventory.class_id = (@class_ids::int[])[1] AND inventory.free >= (@amounts::bigint[])[1]
    UNION ALL
    SELECT DISTINCT member.provider_id
    FROM jsonb_array_elements_text(@member_of::jsonb -> 0) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT member.provider_id FROM provider_aggregates AS member WHERE member.aggregate_id = requested.id::int OFFSET 0
    ) AS member
    WHERE @leading_filter::text = 'member_of'
    UNION ALL
    SELECT DISTINCT provider_trait.provider_id
    FROM jsonb_array_elements_text(@required::jsonb -> 0) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT provider_trait.provider_id FROM provider_traits AS provider_trait WHERE provider_trait.trait_id = requested.id::int OFFSET 0
    ) AS provider_trait
    WHERE @leading_filter::text = 'required'
    UNION ALL
    SELECT provider.id FROM resource_providers AS provider
    WHERE @leading_filter::text = 'none'
)
SELECT
    provider.uuid,
    provider.name,
    generation_row.generation,
    -- no element or one
    ARRAY(SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = provider.parent_id)::uuid[] AS parent_uuid,
    root.uuid AS root_uuid,
    max(GREATEST(generation_row.updated_at, provider.created_at)) OVER ()::timestamptz AS newest
FROM start
    -- OFFSET 0 forces index lookups: the planner estimates start to have the rows of all
    -- its branches together, and would choose a scan and a hash join.
CROSS JOIN LATERAL (
    SELECT listed.id, listed.uuid, listed.name, listed.root_id, listed.parent_id, listed.created_at
    FROM resource_providers AS listed WHERE listed.id = start.id OFFSET 0
) AS provider
CROSS JOIN LATERAL (
    SELECT generation.generation, generation.updated_at FROM provider_generations AS generation WHERE generation.provider_id = start.id OFFSET 0
) AS generation_row
CROSS JOIN LATERAL (SELECT root_provider.uuid FROM resource_providers AS root_provider WHERE root_provider.id = provider.root_id OFFSET 0) AS root
WHERE (sqlc.narg('uuid')::uuid IS NULL OR provider.uuid = sqlc.narg('uuid')::uuid)
  AND (sqlc.narg('name')::text IS NULL OR provider.name = sqlc.narg('name')::text)
  AND (sqlc.narg('in_tree')::uuid IS NULL OR provider.root_id = (
        SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = sqlc.narg('in_tree')::uuid))
  AND (cardinality(@class_ids::int[]) = 0 OR NOT EXISTS (
        SELECT FROM generate_subscripts(@class_ids::int[], 1) AS requested (position)
        LEFT JOIN inventories AS inventory
            ON inventory.provider_id = provider.id
            AND inventory.class_id = (@class_ids::int[])[requested.position]
            AND inventory.free >= (@amounts::bigint[])[requested.position]
            AND inventory.min_unit <= (@amounts::bigint[])[requested.position]
            AND (@amounts::bigint[])[requested.position] % inventory.step_size = 0
        WHERE inventory.provider_id IS NULL))
  AND (@member_of::jsonb = '[]' OR NOT EXISTS (
        SELECT FROM jsonb_array_elements(@member_of::jsonb) AS requested (ids)
        WHERE NOT EXISTS (
            SELECT FROM provider_aggregates AS member
            WHERE member.provider_id = provider.id
              AND member.aggregate_id IN (SELECT jsonb_array_elements_text(requested.ids)::int))))
  AND (@required::jsonb = '[]' OR NOT EXISTS (
        SELECT FROM jsonb_array_elements(@required::jsonb) AS requested (ids)
        WHERE NOT EXISTS (
            SELECT FROM provider_traits AS provider_trait
            WHERE provider_trait.provider_id = provider.id
              AND provider_trait.trait_id IN (SELECT jsonb_array_elements_text(requested.ids)::int))))
  AND NOT EXISTS (
        SELECT FROM provider_aggregates AS member
        WHERE member.provider_id = provider.id AND member.aggregate_id = ANY (@not_member_of::int[]))
  AND NOT EXISTS (
        SELECT FROM provider_traits AS provider_trait
        WHERE provider_trait.provider_id = provider.id AND provider_trait.trait_id = ANY (@forbidden::int[]))
ORDER BY provider.id;

-- Resolves the names in the filters of a provider list: ids of traits, aggregates and classes (-1 for
-- those that do not exist), and whether the in_tree provider exists.
-- Called by Store.ProviderList if its filters have names. Locks nothing.
-- Plan: unique keys only.
-- name: ProviderListNames :one
SELECT
    ARRAY(
        SELECT COALESCE(trait.id, -1)
        FROM unnest(@traits::text[]) WITH ORDINALITY AS requested (name, position)
        LEFT JOIN traits AS trait ON trait.name = requested.name
        ORDER BY requested.position
    )::int[] AS trait_ids,
    ARRAY(
        SELECT COALESCE(aggregate.id, -1)
        FROM unnest(@aggregates::uuid[]) WITH ORDINALITY AS requested (uuid, position)
        LEFT JOIN aggregates AS aggregate ON aggregate.uuid = requested.uuid
        ORDER BY requested.position
    )::int[] AS aggregate_ids,
    ARRAY(
        SELECT COALESCE(class.id, -1)
        FROM unnest(@classes::text[]) WITH ORDINALITY AS requested (name, position)
        LEFT JOIN resource_classes AS class ON class.name = requested.name
        ORDER BY requested.position
    )::int[] AS class_ids,
    EXISTS (
        SELECT FROM resource_providers AS member WHERE member.uuid = sqlc.narg('in_tree')::uuid
    )::bool AS in_tree_exists;

-- Returns whether any provider has a trait of each of the sets (JSON array of arrays of ids). Called
-- by Store.ProviderList if a later name is unknown: the result selects between an error and an empty
-- list.
-- Plan: provider_traits_trait_id_idx.
-- name: ProviderListAnyHasTraits :one
SELECT EXISTS (
    SELECT
    FROM jsonb_array_elements_text(@required::jsonb -> 0) AS lead (id)
    CROSS JOIN LATERAL (
        SELECT provider_trait.provider_id FROM provider_traits AS provider_trait WHERE provider_trait.trait_id = lead.id::int OFFSET 0
    ) AS candidate
    WHERE NOT EXISTS (
        SELECT FROM jsonb_array_elements(@required::jsonb) AS requested (ids)
        WHERE NOT EXISTS (
            SELECT FROM provider_traits AS provider_trait
            WHERE provider_trait.provider_id = candidate.provider_id
              AND provider_trait.trait_id IN (SELECT jsonb_array_elements_text(requested.ids)::int)))
)::bool AS any_has;

-- POST /resource_providers. See the function.
-- name: ProviderCreate :one
SELECT provider_create(@provider::uuid, @name::text, sqlc.narg('parent')::uuid)::uuid AS root_uuid;

-- PUT /resource_providers/{uuid}. See the function. Nullable values are arrays with no element or one,
-- because sqlc generates a function's columns as NOT NULL.
-- name: ProviderUpdate :one
SELECT
    updated.generation::bigint AS generation,
    array_remove(ARRAY[updated.parent_uuid], NULL)::uuid[] AS parent_uuid,
    updated.root_uuid::uuid AS root_uuid,
    array_remove(ARRAY[updated.updated_before], NULL)::timestamptz[] AS updated_before
FROM provider_update_checked(
    @provider::uuid, sqlc.narg('given')::bigint, @name::text,
    @set_parent::bool, sqlc.narg('parent')::uuid, @may_reparent::bool)
    AS updated (generation, parent_uuid, root_uuid, updated_before);

-- DELETE /resource_providers/{uuid}. See the function.
-- name: ProviderDelete :exec
SELECT provider_delete_checked(@provider::uuid, sqlc.narg('generation')::bigint);

-- PUT /resource_providers/{uuid}/tree, in one round trip with the result. See the function.
-- name: TreeReplace :one
SELECT tree_replace(
    @root::uuid, @tree::jsonb, @deleted::jsonb,
    @consumers::uuid[], @projects::text[], @users::text[], @types::text[], @generations::bigint[], @unseen::bool[],
    @owners::int[], @providers::uuid[], @classes::text[], @amounts::bigint[])::jsonb AS result;
