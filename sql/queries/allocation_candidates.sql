-- Resolves the names in a candidate query: ids of classes, traits and aggregates (-1 for those that do
-- not exist), the roots of the in_tree providers (-1 likewise), and whether any provider shares its
-- inventory through an aggregate.
-- Called by Search.List, first. Locks nothing.
-- Plan: unique keys; the first entry of provider_aggregates_sharing_idx.
-- name: CandidateNames :one
SELECT
    ARRAY(
        SELECT COALESCE((SELECT class.id FROM resource_classes AS class WHERE class.name = requested.name), -1)
        FROM unnest(@classes::text[]) WITH ORDINALITY AS requested (name, position) ORDER BY requested.position
    )::int[] AS class_ids,
    ARRAY(
        SELECT COALESCE((SELECT trait.id FROM traits AS trait WHERE trait.name = requested.name), -1)
        FROM unnest(@traits::text[]) WITH ORDINALITY AS requested (name, position) ORDER BY requested.position
    )::int[] AS trait_ids,
    ARRAY(
        SELECT COALESCE((SELECT aggregate.id FROM aggregates AS aggregate WHERE aggregate.uuid = requested.uuid), -1)
        FROM unnest(@aggregates::uuid[]) WITH ORDINALITY AS requested (uuid, position) ORDER BY requested.position
    )::int[] AS aggregate_ids,
    ARRAY(
        SELECT COALESCE((SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = requested.uuid), -1)
        FROM unnest(@trees::uuid[]) WITH ORDINALITY AS requested (uuid, position) ORDER BY requested.position
    )::bigint[] AS tree_ids,
    -- min() reads the first entry of the index in every plan, for any estimate of the number of rows.
    ((SELECT min(member.aggregate_id) FROM provider_aggregates AS member WHERE member.sharing) IS NOT NULL)::bool AS sharing;

-- Returns the next roots in the order of their ids. Called by Search.List if no filter selects few
-- trees.
-- Plan: a range of resource_providers_roots_idx, as long as the limit.
-- name: CandidateRoots :many
SELECT root.id FROM resource_providers AS root
WHERE root.parent_id IS NULL AND root.id > @after_id::bigint
ORDER BY root.id
LIMIT @max_rows::int;

-- Returns the next roots in a pseudo-random order, for randomized candidates: the caller starts at a
-- random position and wraps around.
-- Plan: a range of resource_providers_shuffled_roots_idx, as long as the limit.
-- name: CandidateRootsShuffled :many
SELECT root.id, hashint8extended(root.id, 0)::bigint AS position FROM resource_providers AS root
WHERE root.parent_id IS NULL
  AND (hashint8extended(root.id, 0), root.id) > (@after_position::bigint, @after_id::bigint)
ORDER BY hashint8extended(root.id, 0), root.id
LIMIT @max_rows::int;

-- Returns the next providers with enough free capacity of a class, those with the most first, and the
-- roots of their trees. Called by Search.List if few trees have that much.
-- Plan: a backward range of inventories_class_id_free_idx, as long as the limit.
-- name: CandidateRootsByFreeCapacity :many
SELECT inventory.provider_id, inventory.root_id, inventory.free FROM inventories AS inventory
WHERE inventory.class_id = @class_id::int AND inventory.free >= @amount::bigint
  AND (inventory.free, inventory.provider_id) < (@before_free::bigint, @before_id::bigint)
ORDER BY inventory.free DESC, inventory.provider_id DESC
LIMIT @max_rows::int;

-- Returns the next providers, in the order of their ids, that have any of the given traits, and the
-- roots of their trees. Called by Search.List if few providers have them.
-- Plan: a range of provider_traits_trait_id_idx for each trait, as long as the limit, then a primary
-- key for each provider.
-- name: CandidateRootsByTrait :many
SELECT provider.id AS provider_id, provider.root_id
FROM (
    SELECT DISTINCT provider_trait.provider_id
    FROM unnest(@trait_ids::int[]) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT provider_trait.provider_id FROM provider_traits AS provider_trait
        WHERE provider_trait.trait_id = requested.id AND provider_trait.provider_id > @after_id::bigint
        ORDER BY provider_trait.provider_id LIMIT @max_rows::int
    ) AS provider_trait
    ORDER BY provider_trait.provider_id
    LIMIT @max_rows::int
) AS found
CROSS JOIN LATERAL (
    SELECT provider.id, provider.root_id FROM resource_providers AS provider WHERE provider.id = found.provider_id OFFSET 0
) AS provider
ORDER BY provider.id;

-- Returns the next providers, in the order of their ids, that are in any of the given aggregates, and
-- the roots of their trees. Called by Search.List if few providers are in them.
-- Plan: a range of provider_aggregates_aggregate_id_idx for each aggregate, as long as the limit, then
-- a primary key for each provider.
-- name: CandidateRootsByAggregate :many
SELECT provider.id AS provider_id, provider.root_id
FROM (
    SELECT DISTINCT member.provider_id
    FROM unnest(@aggregate_ids::int[]) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT member.provider_id FROM provider_aggregates AS member
        WHERE member.aggregate_id = requested.id AND member.provider_id > @after_id::bigint
        ORDER BY member.provider_id LIMIT @max_rows::int
    ) AS member
    ORDER BY member.provider_id
    LIMIT @max_rows::int
) AS found
CROSS JOIN LATERAL (
    SELECT provider.id, provider.root_id FROM resource_providers AS provider WHERE provider.id = found.provider_id OFFSET 0
) AS provider
ORDER BY provider.id;

-- Returns the roots of all trees that can use the sharing providers among the given ones and among
-- those of one tree: every tree with a member in one of their aggregates.
-- Called by Search.List after one of the three queries above, and for in_tree, if any provider shares.
-- Plan: provider_aggregates_pkey and _aggregate_id_idx, then primary keys: as many rows as the
-- aggregates have members.
-- name: CandidateAnchors :many
SELECT DISTINCT member.root_id
FROM (
    SELECT given.id FROM unnest(@providers::bigint[]) AS given (id)
    UNION ALL
    SELECT provider.id FROM resource_providers AS provider WHERE provider.root_id = @tree::bigint
) AS found
CROSS JOIN LATERAL (
    SELECT member.aggregate_id FROM provider_aggregates AS member WHERE member.provider_id = found.id AND member.sharing OFFSET 0
) AS shared
CROSS JOIN LATERAL (
    SELECT member.provider_id FROM provider_aggregates AS member WHERE member.aggregate_id = shared.aggregate_id OFFSET 0
) AS other
CROSS JOIN LATERAL (
    SELECT provider.root_id FROM resource_providers AS provider WHERE provider.id = other.provider_id OFFSET 0
) AS member
ORDER BY member.root_id;

-- Returns which providers of some trees match which slot of a request: the main query of the search.
-- One row per class of a slot and provider, only of trees in which every slot has a provider.
-- Called by Search.List with a page of roots, if no provider shares and every group requests
-- resources; CandidateWalkGeneral handles the other cases.
--
-- A slot is what one provider must satisfy: a suffixed group, or one class of the unsuffixed group;
-- equal groups share one. Slots are JSON objects, one for each class of a slot:
--   slot, mark               its number, and a bit of its own; marks has all bits
--   position, classes        position of the class in it, and number of its classes
--   class, amount, suffixed
--   required, forbidden      '{trait ids}': all, none
--   required_any             '{"{trait ids}"}': one of each
--   member_of, not_member_of '{aggregate ids}': any, none
--   member_of_too            '{"{aggregate ids}"}': also any of each
--   root                     the only tree to search
-- sets are further any-of lists of traits, which the providers of the unsuffixed group must satisfy
-- together; met has a 1 for each list that a provider satisfies.
--
-- The conditions here are necessary, not sufficient: package combine checks the sum of the groups on
-- one provider, and whether the choices for all groups are compatible.
-- Plan: keys only. For each root its row, its tree in resource_providers_root_id_idx, for each
-- provider of that a range of inventories_pkey, joined to a hash of the slots. Cost follows the roots
-- and the sizes of their trees.
-- name: CandidateWalkSimple :many
WITH slots AS MATERIALIZED (
    SELECT
        (part ->> 'slot')::int AS slot,
        (part ->> 'mark')::bigint AS mark,
        (part ->> 'position')::int AS position,
        (part ->> 'classes')::int AS classes,
        (part ->> 'class')::int AS class_id,
        (part ->> 'amount')::bigint AS amount,
        (part ->> 'suffixed')::bool AS suffixed,
        (part ->> 'required')::int[] AS required,
        (part ->> 'forbidden')::int[] AS forbidden,
        (part ->> 'member_of')::int[] AS member_of,
        (part ->> 'not_member_of')::int[] AS not_member_of,
        (part ->> 'required_any')::text[] AS required_any,
        (part ->> 'member_of_too')::text[] AS member_of_too,
        (part ->> 'root')::bigint AS root_id
    FROM jsonb_array_elements(@slots::jsonb) AS part

), roots AS MATERIALIZED (
    SELECT root.id, root.aggregate_ids
    FROM unnest(@roots::bigint[]) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT provider.id, provider.trait_ids, provider.aggregate_ids FROM resource_providers AS provider WHERE provider.id = requested.id OFFSET 0
    ) AS root
    WHERE (cardinality(@root_required::int[]) = 0 OR root.trait_ids @> @root_required::int[])
      AND (cardinality(@root_forbidden::int[]) = 0 OR NOT root.trait_ids && @root_forbidden::int[])

), matches AS MATERIALIZED (
    SELECT
        root.id AS root_id,
        slot.slot,
        slot.mark,
        slot.position,
        slot.classes,
        provider.id AS provider_id,
        provider.uuid,
        inventory.free,
        CASE WHEN NOT slot.suffixed AND cardinality(@sets::text[]) > 0 THEN array_to_string(ARRAY(
            SELECT CASE WHEN provider.trait_ids && requested.ids::int[] THEN 1 ELSE 0 END FROM unnest(@sets::text[]) AS requested (ids)
        ), '')::bit varying END AS met
    FROM roots AS root
    CROSS JOIN LATERAL (
        SELECT provider.id, provider.uuid, provider.trait_ids, provider.aggregate_ids
        FROM resource_providers AS provider WHERE provider.root_id = root.id OFFSET 0
    ) AS provider
    CROSS JOIN LATERAL (
        SELECT inventory.class_id, inventory.free, inventory.min_unit, inventory.step_size
        FROM inventories AS inventory WHERE inventory.provider_id = provider.id OFFSET 0
    ) AS inventory
    JOIN slots AS slot
        ON slot.class_id = inventory.class_id AND inventory.free >= slot.amount
        AND inventory.min_unit <= slot.amount AND slot.amount % inventory.step_size = 0
    WHERE (slot.required IS NULL OR provider.trait_ids @> slot.required)
      AND (slot.forbidden IS NULL OR NOT provider.trait_ids && slot.forbidden)
      AND (slot.required_any IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.required_any) AS requested (ids) WHERE NOT provider.trait_ids && requested.ids::int[]))
      AND (slot.member_of IS NULL
        OR provider.aggregate_ids && slot.member_of AND (slot.member_of_too IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.member_of_too) AS requested (ids) WHERE NOT provider.aggregate_ids && requested.ids::int[]))
        OR NOT slot.suffixed AND root.aggregate_ids && slot.member_of AND (slot.member_of_too IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.member_of_too) AS requested (ids) WHERE NOT root.aggregate_ids && requested.ids::int[])))
      AND (slot.not_member_of IS NULL OR NOT provider.aggregate_ids && slot.not_member_of
        AND (slot.suffixed OR NOT root.aggregate_ids && slot.not_member_of))
      AND (slot.root_id IS NULL OR slot.root_id = root.id)

    -- for a slot with several classes, the providers that have all of them
), full_matches AS NOT MATERIALIZED (
    SELECT match.root_id, match.slot, match.mark, match.position, match.provider_id, match.uuid, match.free, match.met
    FROM matches AS match
    WHERE match.classes = 1 OR (match.root_id, match.slot, match.provider_id) IN (
        SELECT part.root_id, part.slot, part.provider_id FROM matches AS part
        WHERE part.classes > 1
        GROUP BY part.root_id, part.slot, part.provider_id HAVING count(*) = min(part.classes))

    -- trees in which every slot and every set of traits has a provider
), complete_trees AS (
    SELECT match.root_id FROM full_matches AS match
    GROUP BY match.root_id
    HAVING bit_or(match.mark) = @marks::bigint AND COALESCE(strpos(bit_or(match.met)::text, '0'), 0) = 0
)
SELECT
    match.root_id::bigint AS root_id,
    match.slot::int AS slot,
    match.provider_id::bigint AS provider_id,
    0::bigint AS parent_id,
    match.root_id::bigint AS tree_id,
    match.uuid::uuid AS uuid,
    false AS shares,
    match.free::bigint AS free,
    COALESCE(match.met::text, '')::text AS met,
    match.position::int AS position
FROM full_matches AS match
WHERE (match.root_id IN (SELECT complete_trees.root_id FROM complete_trees)) IS TRUE
ORDER BY match.root_id, match.slot, match.provider_id, match.position;

-- CandidateWalkSimple for deployments with sharing providers, for same_subtree and for groups without
-- resources. Called by Search.List with a page of roots.
--
-- A group without resources requests one unit of class -1, of which every provider has one.
--
-- Beside its own providers, a tree can use the sharing providers that are in an aggregate of any of
-- its members. subtrees are JSON objects, one for each slot of a same_subtree: subtree (its number),
-- slot, mark (a bit of the slot's own in it), slots (the bits of all its slots), subtrees (in how many
-- the slot is). A provider of a slot is eligible if, for each of the slot's subtrees, the provider
-- itself or an ancestor matches a slot of the subtree and has, itself or among its descendants, a
-- provider for every slot of it. Go checks the same for the chosen providers together. Rows of slot -1
-- are ancestors: a provider and its parent.
-- Plan: as CandidateWalkSimple; the recursion reads a primary key for each ancestor of a match for a
-- slot of a subtree. Without sharing, "reached" is never executed.
-- name: CandidateWalkGeneral :many
WITH RECURSIVE slots AS MATERIALIZED (
    SELECT
        (part ->> 'slot')::int AS slot,
        (part ->> 'mark')::bigint AS mark,
        (part ->> 'position')::int AS position,
        (part ->> 'classes')::int AS classes,
        (part ->> 'class')::int AS class_id,
        (part ->> 'amount')::bigint AS amount,
        (part ->> 'suffixed')::bool AS suffixed,
        (part ->> 'required')::int[] AS required,
        (part ->> 'forbidden')::int[] AS forbidden,
        (part ->> 'member_of')::int[] AS member_of,
        (part ->> 'not_member_of')::int[] AS not_member_of,
        (part ->> 'required_any')::text[] AS required_any,
        (part ->> 'member_of_too')::text[] AS member_of_too,
        (part ->> 'root')::bigint AS root_id
    FROM jsonb_array_elements(@slots::jsonb) AS part

), roots AS MATERIALIZED (
    SELECT root.id, root.aggregate_ids
    FROM unnest(@roots::bigint[]) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT provider.id, provider.trait_ids, provider.aggregate_ids FROM resource_providers AS provider WHERE provider.id = requested.id OFFSET 0
    ) AS root
    WHERE (cardinality(@root_required::int[]) = 0 OR root.trait_ids @> @root_required::int[])
      AND (cardinality(@root_forbidden::int[]) = 0 OR NOT root.trait_ids && @root_forbidden::int[])

), subtrees AS MATERIALIZED (
    SELECT
        (part ->> 'subtree')::int AS subtree,
        (part ->> 'slot')::int AS slot,
        (part ->> 'mark')::bigint AS mark,
        (part ->> 'slots')::bigint AS slots,
        (part ->> 'subtrees')::int AS subtrees
    FROM jsonb_array_elements(@subtrees::jsonb) AS part

), reached AS (
    SELECT DISTINCT root.id AS root_id, sharer.provider_id
    FROM roots AS root
    CROSS JOIN LATERAL (
        SELECT provider.aggregate_ids FROM resource_providers AS provider WHERE provider.root_id = root.id AND @sharing::bool OFFSET 0
    ) AS member
    CROSS JOIN LATERAL unnest(member.aggregate_ids) AS common (aggregate_id)
    CROSS JOIN LATERAL (
        SELECT member.provider_id FROM provider_aggregates AS member
        WHERE member.aggregate_id = common.aggregate_id AND member.sharing OFFSET 0
    ) AS sharer

), providers AS MATERIALIZED (
    SELECT
        root.id AS anchor_id, root.aggregate_ids AS anchor_aggregates, false AS foreign_tree,
        provider.id, provider.uuid, provider.root_id, provider.parent_id, provider.trait_ids, provider.aggregate_ids
    FROM roots AS root
    CROSS JOIN LATERAL (
        SELECT own.id, own.uuid, own.root_id, own.parent_id, own.trait_ids, own.aggregate_ids
        FROM resource_providers AS own WHERE own.root_id = root.id OFFSET 0
    ) AS provider
    UNION ALL
    SELECT
        root.id, root.aggregate_ids, true,
        provider.id, provider.uuid, provider.root_id, provider.parent_id, provider.trait_ids, provider.aggregate_ids
    FROM reached
    JOIN roots AS root ON root.id = reached.root_id
    CROSS JOIN LATERAL (
        SELECT sharer.id, sharer.uuid, sharer.root_id, sharer.parent_id, sharer.trait_ids, sharer.aggregate_ids
        FROM resource_providers AS sharer WHERE sharer.id = reached.provider_id OFFSET 0
    ) AS provider
    WHERE provider.root_id <> reached.root_id

), matches AS MATERIALIZED (
    SELECT
        provider_inventory.anchor_id AS root_id,
        slot.slot,
        slot.mark,
        slot.position,
        slot.classes,
        provider_inventory.id AS provider_id,
        provider_inventory.uuid,
        provider_inventory.root_id AS tree_id,
        provider_inventory.parent_id,
        provider_inventory.trait_ids && @sharing_traits::int[] AS shares,
        provider_inventory.free,
        CASE WHEN NOT slot.suffixed AND cardinality(@sets::text[]) > 0 THEN array_to_string(ARRAY(
            SELECT CASE WHEN provider_inventory.trait_ids && requested.ids::int[] THEN 1 ELSE 0 END FROM unnest(@sets::text[]) AS requested (ids)
        ), '')::bit varying END AS met
    FROM (
        SELECT
            provider.anchor_id, provider.anchor_aggregates, provider.foreign_tree, provider.id, provider.uuid,
            provider.root_id, provider.parent_id, provider.trait_ids, provider.aggregate_ids,
            inventory.class_id, inventory.free, inventory.min_unit, inventory.step_size
        FROM providers AS provider
        CROSS JOIN LATERAL (
            SELECT inventory.class_id, inventory.free, inventory.min_unit::int AS min_unit, inventory.step_size::int AS step_size
            FROM inventories AS inventory WHERE inventory.provider_id = provider.id
            UNION ALL
            SELECT -1, 1, 1, 1
            OFFSET 0
        ) AS inventory
        OFFSET 0
    ) AS provider_inventory
    JOIN slots AS slot
        ON slot.class_id = provider_inventory.class_id AND provider_inventory.free >= slot.amount
        AND provider_inventory.min_unit <= slot.amount AND slot.amount % provider_inventory.step_size = 0
    WHERE (slot.required IS NULL OR provider_inventory.trait_ids @> slot.required)
      AND (slot.forbidden IS NULL OR NOT provider_inventory.trait_ids && slot.forbidden)
      AND (slot.required_any IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.required_any) AS requested (ids) WHERE NOT provider_inventory.trait_ids && requested.ids::int[]))
      AND (slot.member_of IS NULL
        OR provider_inventory.aggregate_ids && slot.member_of AND (slot.member_of_too IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.member_of_too) AS requested (ids) WHERE NOT provider_inventory.aggregate_ids && requested.ids::int[]))
        OR NOT slot.suffixed AND NOT provider_inventory.foreign_tree
        AND provider_inventory.anchor_aggregates && slot.member_of AND (slot.member_of_too IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.member_of_too) AS requested (ids) WHERE NOT provider_inventory.anchor_aggregates && requested.ids::int[])))
      AND (slot.not_member_of IS NULL OR NOT provider_inventory.aggregate_ids && slot.not_member_of
        AND (slot.suffixed OR NOT provider_inventory.anchor_aggregates && slot.not_member_of))
      AND (slot.root_id IS NULL OR slot.root_id = provider_inventory.root_id AND (slot.suffixed OR NOT provider_inventory.foreign_tree))

    -- for a slot with several classes, the providers that have all of them
), full_matches AS NOT MATERIALIZED (
    SELECT match.root_id, match.slot, match.mark, match.position, match.provider_id, match.uuid, match.tree_id, match.parent_id, match.shares, match.free, match.met
    FROM matches AS match
    WHERE match.classes = 1 OR (match.root_id, match.slot, match.provider_id) IN (
        SELECT part.root_id, part.slot, part.provider_id FROM matches AS part
        WHERE part.classes > 1
        GROUP BY part.root_id, part.slot, part.provider_id HAVING count(*) = min(part.classes))

), ancestors AS (
    SELECT match.root_id, match.slot, match.provider_id, match.provider_id AS ancestor_id, match.parent_id
    FROM full_matches AS match WHERE match.position = 0 AND match.slot IN (SELECT subtree.slot FROM subtrees AS subtree)
    UNION ALL  -- ends at the root
    SELECT ancestor.root_id, ancestor.slot, ancestor.provider_id, parent.id, parent.parent_id
    FROM ancestors AS ancestor
    CROSS JOIN LATERAL (
        SELECT provider.id, provider.parent_id FROM resource_providers AS provider WHERE provider.id = ancestor.parent_id OFFSET 0
    ) AS parent

), in_subtree AS (
    SELECT subtree_match.root_id, subtree_match.slot, subtree_match.provider_id
    FROM (
        SELECT
            ancestor.root_id, ancestor.slot, ancestor.provider_id, subtree.subtree, subtree.subtrees, subtree.slots,
            bit_or(subtree.mark) OVER by_ancestor AS slots_at_or_below,
            bool_or(ancestor.provider_id = ancestor.ancestor_id) OVER by_ancestor AS matches_itself
        FROM ancestors AS ancestor JOIN subtrees AS subtree ON subtree.slot = ancestor.slot
        WINDOW by_ancestor AS (PARTITION BY ancestor.root_id, subtree.subtree, ancestor.ancestor_id)
    ) AS subtree_match
    WHERE subtree_match.matches_itself AND subtree_match.slots_at_or_below = subtree_match.slots
    GROUP BY subtree_match.root_id, subtree_match.slot, subtree_match.provider_id
    HAVING count(DISTINCT subtree_match.subtree) = min(subtree_match.subtrees)

), eligible AS MATERIALIZED (
    SELECT
        match.root_id, match.slot, match.mark, match.position, match.provider_id, match.uuid, match.tree_id, match.parent_id, match.shares, match.free, match.met
    FROM full_matches AS match
    WHERE (match.slot IN (SELECT subtree.slot FROM subtrees AS subtree)) IS NOT TRUE
       OR (match.root_id, match.slot, match.provider_id) IN (SELECT in_subtree.root_id, in_subtree.slot, in_subtree.provider_id FROM in_subtree)

    -- trees in which every slot and every set of traits has a provider
), complete_trees AS (
    SELECT match.root_id FROM eligible AS match
    GROUP BY match.root_id
    HAVING bit_or(match.mark) = @marks::bigint AND COALESCE(strpos(bit_or(match.met)::text, '0'), 0) = 0
)
SELECT
    match.root_id::bigint AS root_id,
    match.slot::int AS slot,
    match.provider_id::bigint AS provider_id,
    COALESCE(match.parent_id, 0)::bigint AS parent_id,
    match.tree_id::bigint AS tree_id,
    match.uuid::uuid AS uuid,
    match.shares::bool AS shares,
    match.free::bigint AS free,
    COALESCE(match.met::text, '')::text AS met,
    match.position::int AS position
FROM eligible AS match
WHERE (match.root_id IN (SELECT complete_trees.root_id FROM complete_trees)) IS TRUE
UNION ALL
SELECT DISTINCT
    ancestor.root_id, -1, ancestor.ancestor_id, COALESCE(ancestor.parent_id, 0), 0,
    '00000000-0000-0000-0000-000000000000'::uuid, false, 0, '', 0
FROM ancestors AS ancestor
WHERE ancestor.ancestor_id <> ancestor.provider_id
  AND (ancestor.root_id IN (SELECT complete_trees.root_id FROM complete_trees)) IS TRUE
ORDER BY root_id, slot, provider_id, position;

-- Estimates the selectivity of several predicates, so that the search can start with the rarest: the
-- number of providers that satisfy each one, counted up to a limit, and, if every count reaches the
-- limit, the number of sampled trees in which any provider satisfies it. A predicate is a JSON object
-- with class and amount, with traits or with aggregates ('{ids}', any of them). With sharing, the
-- trees that can use a sharing provider count as well. Called by Search.List if the first trees gave
-- too few candidates.
-- Plan: for each predicate a range of inventories_class_id_free_idx, provider_traits_trait_id_idx or
-- provider_aggregates_aggregate_id_idx, as long as the limit, and keys for each sampled tree.
-- name: CandidateSelectivity :many
WITH counted AS MATERIALIZED (
    SELECT predicate.part, predicate.position, (
        SELECT count(*) + COALESCE(sum(CASE WHEN @sharing::bool THEN (
            SELECT count(*) FROM (
                SELECT other.provider_id
                FROM provider_aggregates AS own_aggregate
                CROSS JOIN LATERAL (
                    SELECT member.provider_id FROM provider_aggregates AS member
                    WHERE member.aggregate_id = own_aggregate.aggregate_id LIMIT @max_rows::int
                ) AS other
                WHERE own_aggregate.provider_id = found.provider_id AND own_aggregate.sharing
                LIMIT @max_rows::int
            ) AS anchored
        ) END), 0)
        FROM (
            -- The order of the index; without it PostgreSQL 18 scans the table in custom plans.
            SELECT with_capacity.provider_id FROM (
                SELECT inventory.provider_id FROM inventories AS inventory
                WHERE inventory.class_id = (predicate.part ->> 'class')::int
                  AND inventory.free >= (predicate.part ->> 'amount')::bigint
                ORDER BY inventory.free LIMIT @max_rows::int
            ) AS with_capacity
            UNION ALL
            SELECT provider_trait.provider_id
            FROM unnest((predicate.part ->> 'traits')::int[]) AS requested (id)
            CROSS JOIN LATERAL (
                SELECT provider_trait.provider_id FROM provider_traits AS provider_trait WHERE provider_trait.trait_id = requested.id LIMIT @max_rows::int
            ) AS provider_trait
            UNION ALL
            SELECT member.provider_id
            FROM unnest((predicate.part ->> 'aggregates')::int[]) AS requested (id)
            CROSS JOIN LATERAL (
                SELECT member.provider_id FROM provider_aggregates AS member WHERE member.aggregate_id = requested.id LIMIT @max_rows::int
            ) AS member
            LIMIT @max_rows::int
        ) AS found
    ) AS found
    FROM jsonb_array_elements(@predicates::jsonb) WITH ORDINALITY AS predicate (part, position)
)
SELECT
    predicate.position::int AS position,
    predicate.found::bigint AS found,
    CASE WHEN (SELECT min(counted.found) FROM counted) < @max_rows::int THEN 0 ELSE (
        SELECT count(*)
        FROM unnest(@sample::bigint[]) AS root (id)
        WHERE EXISTS (
            SELECT FROM (
                SELECT provider.id, provider.trait_ids, provider.aggregate_ids FROM resource_providers AS provider WHERE provider.root_id = root.id OFFSET 0
            ) AS member
            WHERE member.trait_ids && (predicate.part ->> 'traits')::int[]
               OR member.aggregate_ids && (predicate.part ->> 'aggregates')::int[]
               OR EXISTS (
                SELECT FROM inventories AS inventory
                WHERE inventory.provider_id = member.id AND inventory.class_id = (predicate.part ->> 'class')::int
                  AND inventory.free >= (predicate.part ->> 'amount')::bigint))
    ) END::bigint AS sampled
FROM counted AS predicate
ORDER BY predicate.position;

-- Returns all providers of some trees with all their inventories, for the provider summaries of
-- candidates. It resolves the names of custom classes only, because only these can be renamed. Called
-- by Search.List with the trees that gave candidates.
-- Plan: for each tree a range of resource_providers_root_id_idx, for each provider one of
-- inventories_pkey.
-- name: CandidateSummaries :many
SELECT
    provider.id,
    provider.uuid,
    provider.root_id,
    COALESCE(provider.parent_id, 0)::bigint AS parent_id,
    provider.trait_ids,
    inventory.class_ids::int[] AS class_ids,
    inventory.capacities::float8[] AS capacities,
    inventory.used::bigint[] AS used,
    CASE WHEN inventory.last_class_id >= 10000 THEN ARRAY(
        SELECT COALESCE((SELECT class.name FROM resource_classes AS class WHERE class.id = requested.id AND class.id >= 10000), '')
        FROM unnest(inventory.class_ids) WITH ORDINALITY AS requested (id, position) ORDER BY requested.position
    ) END::text[] AS custom_classes
FROM unnest(@roots::bigint[]) AS root (id)
CROSS JOIN LATERAL (
    SELECT provider.id, provider.uuid, provider.root_id, provider.parent_id, provider.trait_ids
    FROM resource_providers AS provider WHERE provider.root_id = root.id OFFSET 0
) AS provider
CROSS JOIN LATERAL (
    SELECT
        COALESCE(array_agg(inventory.class_id), '{}') AS class_ids,
        COALESCE(array_agg(trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio)), '{}') AS capacities,
        COALESCE(array_agg(inventory.used), '{}') AS used,
        max(inventory.class_id) AS last_class_id
    FROM (
        SELECT inventory.class_id, inventory.total, inventory.reserved, inventory.allocation_ratio, inventory.used
        FROM inventories AS inventory WHERE inventory.provider_id = provider.id ORDER BY inventory.class_id
    ) AS inventory
) AS inventory
ORDER BY provider.root_id, provider.id;

-- Returns the names of standard classes and of traits in summaries. Called by Search.List for those
-- whose names are not in the cache yet.
-- Plan: primary keys.
-- name: CandidateSummaryNames :one
SELECT
    ARRAY(
        SELECT class.name FROM unnest(@class_ids::int[]) WITH ORDINALITY AS requested (id, position)
        JOIN resource_classes AS class ON class.id = requested.id ORDER BY requested.position
    )::text[] AS classes,
    ARRAY(
        SELECT trait.name FROM unnest(@trait_ids::int[]) WITH ORDINALITY AS requested (id, position)
        JOIN traits AS trait ON trait.id = requested.id ORDER BY requested.position
    )::text[] AS traits;
