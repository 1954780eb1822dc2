-- Returns traits, filtered by name, by prefix or by whether any provider has them, in the order of
-- their ids; a null filter does not apply. prefix is a LIKE pattern.
-- Called by Store.TraitList. Locks nothing.
-- Plan: scan of traits (hundreds of rows); the first entry of provider_traits_trait_id_idx for each, for associated.
-- name: TraitList :many
SELECT trait.name, COALESCE(trait.updated_at, trait.created_at)::timestamptz AS modified_at
FROM traits AS trait
WHERE (sqlc.narg('names')::text[] IS NULL OR trait.name = ANY (sqlc.narg('names')::text[]))
  AND (sqlc.narg('prefix')::text IS NULL OR trait.name LIKE sqlc.narg('prefix')::text)
  AND (sqlc.narg('associated')::bool IS NULL OR sqlc.narg('associated')::bool = COALESCE((
        SELECT true FROM provider_traits AS provider_trait WHERE provider_trait.trait_id = trait.id
        ORDER BY provider_trait.root_id LIMIT 1), false)) -- an order, so that no plan scans for a trait that no provider has
ORDER BY trait.id;

-- Returns the time at which a trait was created. Called by Store.TraitShow. Locks nothing.
-- Plan: traits_name_key.
-- name: TraitShow :one
SELECT trait.created_at FROM traits AS trait WHERE trait.name = @name::text;

-- Inserts a trait unless it exists. Called by Store.TraitEnsure. For an existing trait it locks
-- nothing and uses no id of the sequence.
-- Plan: traits_name_key.
-- name: TraitEnsure :one
WITH inserted AS (
    INSERT INTO traits (name)
    SELECT @name::text WHERE NOT EXISTS (SELECT FROM traits AS existing WHERE existing.name = @name::text)
    ON CONFLICT DO NOTHING
    RETURNING created_at
)
SELECT
    (SELECT count(*) > 0 FROM inserted)::bool AS created,
    COALESCE(
        (SELECT inserted.created_at FROM inserted),
        (SELECT existing.created_at FROM traits AS existing WHERE existing.name = @name::text),
        now()
    )::timestamptz AS created_at;

-- DELETE /traits/{name}. See the function.
-- name: TraitDelete :exec
SELECT trait_delete(@name::text);

-- Returns a provider's generation and its traits in the order of their ids. A provider without traits
-- is one row with an empty name; no row: no such provider.
-- Called by Store.ProviderTraitList. Locks nothing.
-- Plan: resource_providers_uuid_key, then provider_traits_pkey.
-- name: ProviderTraitList :many
SELECT
    generation_row.generation,
    COALESCE(trait.name, '')::text AS name,
    COALESCE(trait.updated_at, trait.created_at, now())::timestamptz AS modified_at
FROM resource_providers AS provider
JOIN provider_generations AS generation_row ON generation_row.provider_id = provider.id
LEFT JOIN provider_traits AS provider_trait ON provider_trait.provider_id = provider.id
LEFT JOIN traits AS trait ON trait.id = provider_trait.trait_id
WHERE provider.uuid = @provider::uuid
ORDER BY provider_trait.trait_id;

-- PUT /resource_providers/{uuid}/traits, in one round trip with the traits of the response: the
-- requested ones, once each, in the order of their ids.
-- name: ProviderTraitReplace :many
WITH replaced AS MATERIALIZED (  -- one call, not one per row
    SELECT provider_traits_replace(@provider::uuid, @generation::bigint, @names::text[])::bigint AS generation
)
SELECT
    replaced.generation,
    COALESCE(trait.name, '')::text AS name,
    COALESCE(trait.updated_at, trait.created_at, now())::timestamptz AS modified_at
FROM replaced
LEFT JOIN traits AS trait ON trait.name = ANY (@names::text[])
ORDER BY trait.id;

-- Inserts the standard traits that are missing. Called by Store.SyncStandardNames.
-- name: TraitSync :execrows
INSERT INTO traits (name)
SELECT requested.name FROM unnest(@names::text[]) WITH ORDINALITY AS requested (name, position)
WHERE NOT EXISTS (SELECT FROM traits AS existing WHERE existing.name = requested.name)
ORDER BY requested.position
ON CONFLICT DO NOTHING;

-- DELETE /resource_providers/{uuid}/traits. See the function.
-- name: ProviderTraitClear :exec
SELECT provider_traits_replace(@provider::uuid, sqlc.narg('generation')::bigint, '{}');

-- PATCH /resource_providers/{uuid}/traits, in one round trip with the traits of the response. See the function.
-- name: ProviderTraitPatch :many
SELECT patched.generation::bigint AS generation, patched.name::text AS name
FROM provider_traits_patch(@provider::uuid, sqlc.narg('given')::bigint, @added::text[], @removed::text[])
    AS patched (generation, position, name)
ORDER BY patched.position;
