-- Traits, by name, prefix or whether any provider has them, in id order; null
-- filters don't filter. prefix is a LIKE pattern.
-- Called by Store.TraitList. Locks nothing.
-- Plan: scan of traits (hundreds of rows); provider_traits_trait_id_idx for
-- associated.
-- name: TraitList :many
SELECT trait.name, COALESCE(trait.updated_at, trait.created_at)::timestamptz AS modified_at
FROM traits AS trait
WHERE (sqlc.narg('names')::text[] IS NULL OR trait.name = ANY (sqlc.narg('names')::text[]))
  AND (sqlc.narg('prefix')::text IS NULL OR trait.name LIKE sqlc.narg('prefix')::text)
  AND (sqlc.narg('associated')::bool IS NULL OR sqlc.narg('associated')::bool = EXISTS (
        SELECT FROM provider_traits AS present WHERE present.trait_id = trait.id))
ORDER BY trait.id;

-- When a trait was made. Called by Store.TraitShow. Locks nothing.
-- Plan: traits_name_key.
-- name: TraitShow :one
SELECT trait.created_at FROM traits AS trait WHERE trait.name = @name::text;

-- Makes a trait unless it is there. Called by Store.TraitEnsure. Locks nothing
-- that is there already, and takes no id for it.
-- Plan: traits_name_key.
-- name: TraitEnsure :one
WITH made AS (
    INSERT INTO traits (name)
    SELECT @name::text WHERE NOT EXISTS (SELECT FROM traits AS present WHERE present.name = @name::text)
    ON CONFLICT DO NOTHING
    RETURNING created_at
)
SELECT
    (SELECT count(*) > 0 FROM made)::bool AS created,
    COALESCE(
        (SELECT made.created_at FROM made),
        (SELECT present.created_at FROM traits AS present WHERE present.name = @name::text),
        now()
    )::timestamptz AS created_at;

-- DELETE /traits/{name}. See the function.
-- name: TraitDelete :exec
SELECT trait_delete(@name::text);

-- A provider's generation and its traits in id order. A provider without any is
-- one row with an empty name; no row: no such provider.
-- Called by Store.ProviderTraitList. Locks nothing.
-- Plan: resource_providers_uuid_key, then provider_traits_pkey.
-- name: ProviderTraitList :many
SELECT
    held.generation,
    COALESCE(trait.name, '')::text AS name,
    COALESCE(trait.updated_at, trait.created_at, now())::timestamptz AS modified_at
FROM resource_providers AS provider
JOIN provider_generations AS held ON held.provider_id = provider.id
LEFT JOIN provider_traits AS present ON present.provider_id = provider.id
LEFT JOIN traits AS trait ON trait.id = present.trait_id
WHERE provider.uuid = @provider::uuid
ORDER BY present.trait_id;

-- PUT /resource_providers/{uuid}/traits, in one round trip with the traits it
-- answers: what was asked for, once each, in id order.
-- name: ProviderTraitReplace :many
WITH replaced AS MATERIALIZED (  -- once, not once a row
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
SELECT wanted.name FROM unnest(@names::text[]) WITH ORDINALITY AS wanted (name, place)
WHERE NOT EXISTS (SELECT FROM traits AS present WHERE present.name = wanted.name)
ORDER BY wanted.place
ON CONFLICT DO NOTHING;

-- DELETE /resource_providers/{uuid}/traits, whatever the generation. See the
-- function.
-- name: ProviderTraitClear :exec
SELECT provider_traits_replace(@provider::uuid, NULL, '{}');
