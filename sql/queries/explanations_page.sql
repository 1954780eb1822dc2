-- Returns what an explanation needs to judge some trees: every provider that they can use, with the conditions that it meets,
-- and the inventories of the requested classes. Rows are of three kinds, in no order:
--   a provider        has a uuid; met has the bits of the conditions that it meets, one number for each word
--   an inventory      has a class_id; id is its provider
--   the sharing ones  have no id; reached has {root of a tree, sharing provider that it can use}
-- A condition is a JSON object with word and bit, and one of the members of a condition of CandidatePage.
-- Called by Explainer.Explain, page by page. Locks nothing.
-- Plan: as CandidatePageGeneral: ranges of resource_providers_root_id_idx and inventories_pkey for all trees at once.
-- name: ExplainPage :many
WITH conditions AS MATERIALIZED (
    SELECT
        (part ->> 'word')::int AS word,
        (part ->> 'bit')::bigint AS bit,
        (part ->> 'required')::int[] AS required,
        (part ->> 'forbidden')::int[] AS forbidden,
        (part ->> 'required_any')::text[] AS required_any,
        (part ->> 'member_of')::int[] AS member_of,
        (part ->> 'member_of_too')::text[] AS member_of_too,
        (part ->> 'not_member_of')::int[] AS not_member_of
    FROM jsonb_array_elements(@conditions::jsonb) AS part

), reached AS MATERIALIZED (
    SELECT DISTINCT root.id AS root_id, sharer.provider_id
    FROM unnest(@roots::bigint[]) AS root (id)
    CROSS JOIN LATERAL (
        SELECT provider.aggregate_ids FROM resource_providers AS provider WHERE provider.root_id = root.id AND @sharing::bool OFFSET 0
    ) AS member
    CROSS JOIN LATERAL unnest(member.aggregate_ids) AS common (aggregate_id)
    CROSS JOIN LATERAL (
        SELECT member.provider_id FROM provider_aggregates AS member
        WHERE member.aggregate_id = common.aggregate_id AND member.sharing OFFSET 0
    ) AS sharer

), usable AS MATERIALIZED (
    SELECT provider.id FROM resource_providers AS provider WHERE provider.root_id = ANY(@roots::bigint[])
    UNION
    SELECT reached.provider_id FROM reached
)
SELECT
    NULL::bigint AS id,
    NULL::bigint AS root_id,
    NULL::bigint AS parent_id,
    NULL::uuid AS uuid,
    NULL::text AS name,
    NULL::bigint[] AS met,
    NULL::int AS class_id,
    NULL::bigint AS total,
    NULL::bigint AS reserved,
    NULL::bigint AS min_unit,
    NULL::bigint AS max_unit,
    NULL::bigint AS step_size,
    NULL::float8 AS allocation_ratio,
    NULL::bigint AS used,
    (SELECT array_agg(ARRAY[reached.root_id, reached.provider_id]) FROM reached)::bigint[] AS reached
UNION ALL
SELECT
    provider.id, provider.root_id, provider.parent_id, provider.uuid, provider.name,
    ARRAY(
        SELECT COALESCE(bit_or(CASE WHEN candidate_meets(
            provider.trait_ids, provider.aggregate_ids, condition.required, condition.forbidden, condition.required_any,
            condition.member_of, condition.member_of_too, condition.not_member_of) THEN condition.bit END), 0)
        FROM conditions AS condition GROUP BY condition.word ORDER BY condition.word
    ),
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM resource_providers AS provider
WHERE provider.id = ANY(ARRAY(SELECT usable.id FROM usable))
UNION ALL
SELECT
    inventory.provider_id, NULL, NULL, NULL, NULL, NULL, inventory.class_id, inventory.total, inventory.reserved, inventory.min_unit,
    inventory.max_unit, inventory.step_size, inventory.allocation_ratio, inventory.used, NULL
FROM inventories AS inventory
WHERE inventory.provider_id = ANY(ARRAY(SELECT usable.id FROM usable)) AND inventory.class_id = ANY(@classes::int[]);

-- Returns the next roots in the order of hashed ids, of which consecutive ones are a uniform sample, up to a place.
-- Called by Explainer.Explain. Locks nothing.
-- Plan: a range of resource_providers_shuffled_roots_idx.
-- name: ExplainRoots :many
SELECT root.id, hashint8extended(root.id, 0)::bigint AS place FROM resource_providers AS root
WHERE root.parent_id IS NULL
  AND (hashint8extended(root.id, 0), root.id) > (@after_place::bigint, @after_id::bigint)
  AND (hashint8extended(root.id, 0), root.id) <= (@until_place::bigint, @until_id::bigint)
ORDER BY hashint8extended(root.id, 0), root.id
LIMIT @max_rows::int;

-- Returns the providers that have single things of a query, each of which few providers have; shares is true for those whose
-- inventory other trees can use. A thing is one of ExplainFacts. Called by Explainer.Explain. Locks nothing.
-- Plan: ranges of inventories_class_id_free_idx, provider_traits_trait_id_idx and provider_aggregates_aggregate_id_idx;
-- provider_aggregates_pkey for each provider.
-- name: ExplainRareProviders :many
SELECT found.provider_id, found.root_id, EXISTS (
    SELECT FROM provider_aggregates AS member WHERE member.provider_id = found.provider_id AND member.sharing OFFSET 0
) AS shares
FROM jsonb_array_elements(@things::jsonb) AS thing (part)
CROSS JOIN LATERAL (
    (
        SELECT inventory.provider_id, inventory.root_id FROM inventories AS inventory
        WHERE inventory.class_id = (thing.part ->> 'class')::int AND inventory.free >= (thing.part ->> 'least')::bigint
        ORDER BY inventory.free LIMIT @max_rows::int
    )
    UNION ALL
    (
        SELECT member.provider_id, member.root_id FROM provider_traits AS member
        WHERE member.trait_id = ANY((thing.part ->> 'traits')::int[])
        ORDER BY member.root_id, member.provider_id LIMIT @max_rows::int
    )
    UNION ALL
    (
        SELECT member.provider_id, member.root_id FROM provider_aggregates AS member
        WHERE member.aggregate_id = ANY((thing.part ->> 'aggregates')::int[])
        ORDER BY member.root_id, member.provider_id LIMIT @max_rows::int
    )
) AS found
LIMIT @max_rows::int;

-- Returns the number of roots. Called by Explainer.Explain. Locks nothing.
-- Plan: resource_providers_shuffled_roots_idx, whole: an index without the children.
-- name: ExplainRootCount :one
SELECT count(*) FROM resource_providers AS root WHERE root.parent_id IS NULL;

-- Counts single things that a query asks for, each up to 10,001: providers with inventory of a class, those with enough free
-- capacity, and the most that any has free; providers with any of some traits or aggregates, and how many of these are roots. A
-- thing is a JSON object with class and least, or with traits or aggregates ('{ids}').
-- Called by Explainer.Explain. Locks nothing.
-- Plan: ranges of inventories_class_id_free_idx, provider_traits_trait_id_idx and provider_aggregates_aggregate_id_idx, as long
-- as the limit.
-- name: ExplainFacts :many
SELECT
    thing.position::int AS position,
    counted.providers::bigint AS providers,
    counted.roots::bigint AS roots,
    (SELECT count(*) FROM (
        SELECT FROM inventories AS inventory
        WHERE inventory.class_id = (thing.part ->> 'class')::int AND inventory.free >= (thing.part ->> 'least')::bigint
        ORDER BY inventory.free LIMIT 10001
    ) AS found)::bigint AS with_room,
    COALESCE((
        SELECT inventory.free FROM inventories AS inventory WHERE inventory.class_id = (thing.part ->> 'class')::int
        ORDER BY inventory.free DESC LIMIT 1
    ), 0)::bigint AS most_room
FROM jsonb_array_elements(@things::jsonb) WITH ORDINALITY AS thing (part, position)
CROSS JOIN LATERAL (
    SELECT count(DISTINCT found.provider_id) AS providers, count(DISTINCT found.provider_id) FILTER (WHERE found.provider_id = found.root_id) AS roots
    FROM (
        (
            SELECT inventory.provider_id, inventory.root_id FROM inventories AS inventory
            WHERE inventory.class_id = (thing.part ->> 'class')::int
            ORDER BY inventory.free LIMIT 10001
        )
        UNION ALL
        (
            SELECT member.provider_id, member.root_id FROM provider_traits AS member
            WHERE member.trait_id = ANY((thing.part ->> 'traits')::int[])
            ORDER BY member.root_id, member.provider_id LIMIT 10001
        )
        UNION ALL
        (
            SELECT member.provider_id, member.root_id FROM provider_aggregates AS member
            WHERE member.aggregate_id = ANY((thing.part ->> 'aggregates')::int[])
            ORDER BY member.root_id, member.provider_id LIMIT 10001
        )
    ) AS found
) AS counted
ORDER BY thing.position;

-- Returns the most of a class that any provider could give if nothing were used. Called by Explainer.Explain if none has
-- enough. Locks nothing.
-- Plan: inventories_class_id_free_idx for the class, whole: 50 ms for 100,000 inventories.
-- name: ExplainLargest :one
SELECT COALESCE(max(LEAST(inventory.max_unit, trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio))), 0)::float8 AS largest
FROM inventories AS inventory WHERE inventory.class_id = @class_id::int;

-- Returns the names that are in use: classes with inventory, traits that a provider has. Called by Explainer.Explain to find
-- names that are similar to one that nothing has. Locks nothing.
-- Plan: all classes and traits, with the first entry of an index for each.
-- name: ExplainNamesInUse :one
SELECT
    ARRAY(
        SELECT class.name FROM resource_classes AS class
        WHERE EXISTS (
            SELECT FROM inventories AS inventory WHERE inventory.class_id = class.id ORDER BY inventory.free LIMIT 1 -- an order, so that no plan scans
        )
        ORDER BY class.name
    )::text[] AS classes,
    ARRAY(
        SELECT trait.name FROM traits AS trait
        WHERE EXISTS (
            SELECT FROM provider_traits AS member WHERE member.trait_id = trait.id ORDER BY member.root_id, member.provider_id LIMIT 1
        )
        ORDER BY trait.name
    )::text[] AS traits;
