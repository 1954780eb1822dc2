-- What the names in a question for candidates are: ids of classes, traits and
-- aggregates (-1 for those that don't exist), the roots of the in_tree providers
-- (-1), and whether any provider shares its inventory through an aggregate.
-- Called by Store.CandidateList, first. Locks nothing.
-- Plan: unique keys; the first entry of provider_aggregates_sharing_idx.
-- name: CandidateNames :one
SELECT
    ARRAY(
        SELECT COALESCE((SELECT class.id FROM resource_classes AS class WHERE class.name = wanted.name), -1)
        FROM unnest(@classes::text[]) WITH ORDINALITY AS wanted (name, place) ORDER BY wanted.place
    )::int[] AS class_ids,
    ARRAY(
        SELECT COALESCE((SELECT trait.id FROM traits AS trait WHERE trait.name = wanted.name), -1)
        FROM unnest(@traits::text[]) WITH ORDINALITY AS wanted (name, place) ORDER BY wanted.place
    )::int[] AS trait_ids,
    ARRAY(
        SELECT COALESCE((SELECT aggregate.id FROM aggregates AS aggregate WHERE aggregate.uuid = wanted.uuid), -1)
        FROM unnest(@aggregates::uuid[]) WITH ORDINALITY AS wanted (uuid, place) ORDER BY wanted.place
    )::int[] AS aggregate_ids,
    ARRAY(
        SELECT COALESCE((SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = wanted.uuid), -1)
        FROM unnest(@trees::uuid[]) WITH ORDINALITY AS wanted (uuid, place) ORDER BY wanted.place
    )::bigint[] AS tree_ids,
    -- The least one, since that is the first entry of its index whatever the planner
    -- believes about how many there are.
    ((SELECT min(member.aggregate_id) FROM provider_aggregates AS member WHERE member.sharing) IS NOT NULL)::bool AS sharing;

-- The next roots in id order. Called by Store.CandidateList where nothing says
-- better where to look.
-- Plan: a range of resource_providers_roots_idx, as long as the limit.
-- name: CandidateRoots :many
SELECT root.id FROM resource_providers AS root
WHERE root.parent_id IS NULL AND root.id > @after_id::bigint
ORDER BY root.id
LIMIT @most::int;

-- The next roots in an order that says nothing, for randomised answers: the caller
-- begins anywhere and goes round.
-- Plan: a range of resource_providers_shuffled_roots_idx, as long as the limit.
-- name: CandidateRootsShuffled :many
SELECT root.id, hashint8extended(root.id, 0)::bigint AS place FROM resource_providers AS root
WHERE root.parent_id IS NULL
  AND (hashint8extended(root.id, 0), root.id) > (@after_place::bigint, @after_id::bigint)
ORDER BY hashint8extended(root.id, 0), root.id
LIMIT @most::int;

-- The next providers with room for an amount of a class, those with most first,
-- and the roots of their trees. Called by Store.CandidateList where few trees have
-- that much.
-- Plan: a backward range of inventories_class_id_free_idx, as long as the limit.
-- name: CandidateRootsByRoom :many
SELECT inventory.provider_id, inventory.root_id, inventory.free FROM inventories AS inventory
WHERE inventory.class_id = @class_id::int AND inventory.free >= @amount::bigint
  AND (inventory.free, inventory.provider_id) < (@before_free::bigint, @before_id::bigint)
ORDER BY inventory.free DESC, inventory.provider_id DESC
LIMIT @most::int;

-- The next providers, in id order, that have any of some traits, and the roots of
-- their trees. Called by Store.CandidateList where few have.
-- Plan: a range of provider_traits_trait_id_idx for each trait, as long as the
-- limit, then a primary key for each provider.
-- name: CandidateRootsByTrait :many
SELECT provider.id AS provider_id, provider.root_id
FROM (
    SELECT DISTINCT present.provider_id
    FROM unnest(@trait_ids::int[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT one.provider_id FROM provider_traits AS one
        WHERE one.trait_id = wanted.id AND one.provider_id > @after_id::bigint
        ORDER BY one.provider_id LIMIT @most::int
    ) AS present
    ORDER BY present.provider_id
    LIMIT @most::int
) AS found
CROSS JOIN LATERAL (
    SELECT one.id, one.root_id FROM resource_providers AS one WHERE one.id = found.provider_id OFFSET 0
) AS provider
ORDER BY provider.id;

-- The next providers, in id order, that are in any of some aggregates, and the
-- roots of their trees. Called by Store.CandidateList where few are.
-- Plan: a range of provider_aggregates_aggregate_id_idx for each aggregate, as long
-- as the limit, then a primary key for each provider.
-- name: CandidateRootsByAggregate :many
SELECT provider.id AS provider_id, provider.root_id
FROM (
    SELECT DISTINCT member.provider_id
    FROM unnest(@aggregate_ids::int[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT one.provider_id FROM provider_aggregates AS one
        WHERE one.aggregate_id = wanted.id AND one.provider_id > @after_id::bigint
        ORDER BY one.provider_id LIMIT @most::int
    ) AS member
    ORDER BY member.provider_id
    LIMIT @most::int
) AS found
CROSS JOIN LATERAL (
    SELECT one.id, one.root_id FROM resource_providers AS one WHERE one.id = found.provider_id OFFSET 0
) AS provider
ORDER BY provider.id;

-- The roots of all trees that reach those of some providers, and of the providers
-- of one tree, that share: every tree with a member in one of their aggregates.
-- Called by Store.CandidateList after one of the three above and for in_tree, if
-- anybody shares.
-- Plan: provider_aggregates_pkey and _aggregate_id_idx, then primary keys: as many
-- rows as the aggregates have members.
-- name: CandidateAnchors :many
SELECT DISTINCT member.root_id
FROM (
    SELECT given.id FROM unnest(@providers::bigint[]) AS given (id)
    UNION ALL
    SELECT one.id FROM resource_providers AS one WHERE one.root_id = @tree::bigint
) AS found
CROSS JOIN LATERAL (
    SELECT one.aggregate_id FROM provider_aggregates AS one WHERE one.provider_id = found.id AND one.sharing OFFSET 0
) AS shared
CROSS JOIN LATERAL (
    SELECT one.provider_id FROM provider_aggregates AS one WHERE one.aggregate_id = shared.aggregate_id OFFSET 0
) AS other
CROSS JOIN LATERAL (
    SELECT one.root_id FROM resource_providers AS one WHERE one.id = other.provider_id OFFSET 0
) AS member
ORDER BY member.root_id;

-- What in some trees can satisfy which part of a request: the heart of the search.
-- One row for each class of a slot and provider, only of trees in which every slot
-- has a provider.
-- Called by Store.CandidateList with a page of roots, if nobody shares and every
-- group asks for resources; see CandidateWalk for the rest.
--
-- A slot is what one provider must meet: a suffixed group, or one class of the
-- unsuffixed group; equal groups share one. Slots come as JSON objects, one for
-- each class of a slot:
--   slot, mark               its number, and a bit of its own; marks has all bits
--   place, classes           place of the class in it, and of how many
--   class, amount, suffixed
--   required, forbidden      '{trait ids}': all, none
--   required_any             '{"{trait ids}"}': one of each
--   member_of, not_member_of '{aggregate ids}': any, none
--   member_of_too            '{"{aggregate ids}"}': also any of each
--   root                     the only tree to look in
-- sets are more lists of traits, one of each of which the providers of the
-- unsuffixed group must have together; met has a 1 for each that a provider has.
--
-- What is decided here is necessary: how groups add up that meet on one provider,
-- and whether what is chosen for them goes together, package combine decides.
-- Plan: keys only. For each root its row, its tree in resource_providers_root_id_idx,
-- for each provider of that a range of inventories_pkey, joined to a hash of the
-- slots. Cost follows the roots and the sizes of their trees.
-- name: CandidateWalkTree :many
WITH slots AS MATERIALIZED (
    SELECT
        (part ->> 'slot')::int AS slot,
        (part ->> 'mark')::bigint AS mark,
        (part ->> 'place')::int AS place,
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
    FROM unnest(@roots::bigint[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT one.id, one.trait_ids, one.aggregate_ids FROM resource_providers AS one WHERE one.id = wanted.id OFFSET 0
    ) AS root
    WHERE (cardinality(@root_required::int[]) = 0 OR root.trait_ids @> @root_required::int[])
      AND (cardinality(@root_forbidden::int[]) = 0 OR NOT root.trait_ids && @root_forbidden::int[])

), fits AS MATERIALIZED (
    SELECT
        root.id AS root_id,
        slot.slot,
        slot.mark,
        slot.place,
        slot.classes,
        provider.id AS provider_id,
        provider.uuid,
        inventory.free,
        CASE WHEN NOT slot.suffixed AND cardinality(@sets::text[]) > 0 THEN array_to_string(ARRAY(
            SELECT CASE WHEN provider.trait_ids && wanted.ids::int[] THEN 1 ELSE 0 END FROM unnest(@sets::text[]) AS wanted (ids)
        ), '')::bit varying END AS met
    FROM roots AS root
    CROSS JOIN LATERAL (
        SELECT one.id, one.uuid, one.trait_ids, one.aggregate_ids
        FROM resource_providers AS one WHERE one.root_id = root.id OFFSET 0
    ) AS provider
    CROSS JOIN LATERAL (
        SELECT one.class_id, one.free, one.min_unit, one.step_size
        FROM inventories AS one WHERE one.provider_id = provider.id OFFSET 0
    ) AS inventory
    JOIN slots AS slot
        ON slot.class_id = inventory.class_id AND inventory.free >= slot.amount
        AND inventory.min_unit <= slot.amount AND slot.amount % inventory.step_size = 0
    WHERE (slot.required IS NULL OR provider.trait_ids @> slot.required)
      AND (slot.forbidden IS NULL OR NOT provider.trait_ids && slot.forbidden)
      AND (slot.required_any IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.required_any) AS wanted (ids) WHERE NOT provider.trait_ids && wanted.ids::int[]))
      AND (slot.member_of IS NULL
        OR provider.aggregate_ids && slot.member_of AND (slot.member_of_too IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.member_of_too) AS wanted (ids) WHERE NOT provider.aggregate_ids && wanted.ids::int[]))
        OR NOT slot.suffixed AND root.aggregate_ids && slot.member_of AND (slot.member_of_too IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.member_of_too) AS wanted (ids) WHERE NOT root.aggregate_ids && wanted.ids::int[])))
      AND (slot.not_member_of IS NULL OR NOT provider.aggregate_ids && slot.not_member_of
        AND (slot.suffixed OR NOT root.aggregate_ids && slot.not_member_of))
      AND (slot.root_id IS NULL OR slot.root_id = root.id)

    -- of a group with several classes, the providers that have all
), whole AS NOT MATERIALIZED (
    SELECT fit.root_id, fit.slot, fit.mark, fit.place, fit.provider_id, fit.uuid, fit.free, fit.met
    FROM fits AS fit
    WHERE fit.classes = 1 OR (fit.root_id, fit.slot, fit.provider_id) IN (
        SELECT part.root_id, part.slot, part.provider_id FROM fits AS part
        WHERE part.classes > 1
        GROUP BY part.root_id, part.slot, part.provider_id HAVING count(*) = min(part.classes))

    -- trees in which every slot has a provider, and every set of traits too
), complete AS (
    SELECT fit.root_id FROM whole AS fit
    GROUP BY fit.root_id
    HAVING bit_or(fit.mark) = @marks::bigint AND COALESCE(strpos(bit_or(fit.met)::text, '0'), 0) = 0
)
SELECT
    fit.root_id::bigint AS root_id,
    fit.slot::int AS slot,
    fit.provider_id::bigint AS provider_id,
    0::bigint AS parent_id,
    fit.root_id::bigint AS tree_id,
    fit.uuid::uuid AS uuid,
    false AS shares,
    fit.free::bigint AS free,
    COALESCE(fit.met::text, '')::text AS met,
    fit.place::int AS place
FROM whole AS fit
WHERE (fit.root_id IN (SELECT complete.root_id FROM complete)) IS TRUE
ORDER BY fit.root_id, fit.slot, fit.provider_id, fit.place;

-- CandidateWalkTree for deployments in which providers share, for same_subtree and
-- for groups without resources. Called by Store.CandidateList with a page of roots.
--
-- A group without resources asks for one of class -1, of which every provider has
-- one.
--
-- Beside its own providers, a tree reaches the sharing providers that are in an
-- aggregate of any of its members. subtrees are JSON objects, one for each slot of a
-- same_subtree: subtree (its number), slot, mark (a bit of the slot's own in it),
-- slots (the bits of all its slots), subtrees (in how many the slot is). A slot's
-- provider stays if, in each of the slot's subtrees, some provider at or above it
-- fits a slot of the subtree and has a provider for every slot of it at or below; Go
-- looks whether those chosen together do so too. Rows of slot -1 tell what is above:
-- a provider and its parent.
-- Plan: as CandidateWalkTree; the recursion takes a primary key for each ancestor
-- of what fits a slot of a subtree. Without sharing, "reached" is never executed.
-- name: CandidateWalk :many
WITH RECURSIVE slots AS MATERIALIZED (
    SELECT
        (part ->> 'slot')::int AS slot,
        (part ->> 'mark')::bigint AS mark,
        (part ->> 'place')::int AS place,
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
    FROM unnest(@roots::bigint[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT one.id, one.trait_ids, one.aggregate_ids FROM resource_providers AS one WHERE one.id = wanted.id OFFSET 0
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
        SELECT one.aggregate_ids FROM resource_providers AS one WHERE one.root_id = root.id AND @sharing::bool OFFSET 0
    ) AS member
    CROSS JOIN LATERAL unnest(member.aggregate_ids) AS common (aggregate_id)
    CROSS JOIN LATERAL (
        SELECT one.provider_id FROM provider_aggregates AS one
        WHERE one.aggregate_id = common.aggregate_id AND one.sharing OFFSET 0
    ) AS sharer

), providers AS MATERIALIZED (
    SELECT
        root.id AS anchor_id, root.aggregate_ids AS anchor_aggregates, false AS foreign_tree,
        one.id, one.uuid, one.root_id, one.parent_id, one.trait_ids, one.aggregate_ids
    FROM roots AS root
    CROSS JOIN LATERAL (
        SELECT own.id, own.uuid, own.root_id, own.parent_id, own.trait_ids, own.aggregate_ids
        FROM resource_providers AS own WHERE own.root_id = root.id OFFSET 0
    ) AS one
    UNION ALL
    SELECT
        root.id, root.aggregate_ids, true,
        one.id, one.uuid, one.root_id, one.parent_id, one.trait_ids, one.aggregate_ids
    FROM reached
    JOIN roots AS root ON root.id = reached.root_id
    CROSS JOIN LATERAL (
        SELECT sharer.id, sharer.uuid, sharer.root_id, sharer.parent_id, sharer.trait_ids, sharer.aggregate_ids
        FROM resource_providers AS sharer WHERE sharer.id = reached.provider_id OFFSET 0
    ) AS one
    WHERE one.root_id <> reached.root_id

), fits AS MATERIALIZED (
    SELECT
        stock.anchor_id AS root_id,
        slot.slot,
        slot.mark,
        slot.place,
        slot.classes,
        stock.id AS provider_id,
        stock.uuid,
        stock.root_id AS tree_id,
        stock.parent_id,
        stock.trait_ids && @sharing_traits::int[] AS shares,
        stock.free,
        CASE WHEN NOT slot.suffixed AND cardinality(@sets::text[]) > 0 THEN array_to_string(ARRAY(
            SELECT CASE WHEN stock.trait_ids && wanted.ids::int[] THEN 1 ELSE 0 END FROM unnest(@sets::text[]) AS wanted (ids)
        ), '')::bit varying END AS met
    FROM (
        SELECT
            provider.anchor_id, provider.anchor_aggregates, provider.foreign_tree, provider.id, provider.uuid,
            provider.root_id, provider.parent_id, provider.trait_ids, provider.aggregate_ids,
            inventory.class_id, inventory.free, inventory.min_unit, inventory.step_size
        FROM providers AS provider
        CROSS JOIN LATERAL (
            SELECT one.class_id, one.free, one.min_unit::int AS min_unit, one.step_size::int AS step_size
            FROM inventories AS one WHERE one.provider_id = provider.id
            UNION ALL
            SELECT -1, 1, 1, 1
            OFFSET 0
        ) AS inventory
        OFFSET 0
    ) AS stock
    JOIN slots AS slot
        ON slot.class_id = stock.class_id AND stock.free >= slot.amount
        AND stock.min_unit <= slot.amount AND slot.amount % stock.step_size = 0
    WHERE (slot.required IS NULL OR stock.trait_ids @> slot.required)
      AND (slot.forbidden IS NULL OR NOT stock.trait_ids && slot.forbidden)
      AND (slot.required_any IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.required_any) AS wanted (ids) WHERE NOT stock.trait_ids && wanted.ids::int[]))
      AND (slot.member_of IS NULL
        OR stock.aggregate_ids && slot.member_of AND (slot.member_of_too IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.member_of_too) AS wanted (ids) WHERE NOT stock.aggregate_ids && wanted.ids::int[]))
        OR NOT slot.suffixed AND NOT stock.foreign_tree
        AND stock.anchor_aggregates && slot.member_of AND (slot.member_of_too IS NULL OR NOT EXISTS (
            SELECT FROM unnest(slot.member_of_too) AS wanted (ids) WHERE NOT stock.anchor_aggregates && wanted.ids::int[])))
      AND (slot.not_member_of IS NULL OR NOT stock.aggregate_ids && slot.not_member_of
        AND (slot.suffixed OR NOT stock.anchor_aggregates && slot.not_member_of))
      AND (slot.root_id IS NULL OR slot.root_id = stock.root_id AND (slot.suffixed OR NOT stock.foreign_tree))

    -- of a group with several classes, the providers that have all
), whole AS NOT MATERIALIZED (
    SELECT fit.root_id, fit.slot, fit.mark, fit.place, fit.provider_id, fit.uuid, fit.tree_id, fit.parent_id, fit.shares, fit.free, fit.met
    FROM fits AS fit
    WHERE fit.classes = 1 OR (fit.root_id, fit.slot, fit.provider_id) IN (
        SELECT part.root_id, part.slot, part.provider_id FROM fits AS part
        WHERE part.classes > 1
        GROUP BY part.root_id, part.slot, part.provider_id HAVING count(*) = min(part.classes))

), above AS (
    SELECT fit.root_id, fit.slot, fit.provider_id, fit.provider_id AS ancestor_id, fit.parent_id
    FROM whole AS fit WHERE fit.place = 0 AND fit.slot IN (SELECT subtree.slot FROM subtrees AS subtree)
    UNION ALL  -- ends at the root
    SELECT below.root_id, below.slot, below.provider_id, parent.id, parent.parent_id
    FROM above AS below
    CROSS JOIN LATERAL (
        SELECT one.id, one.parent_id FROM resource_providers AS one WHERE one.id = below.parent_id OFFSET 0
    ) AS parent

), tied AS (
    SELECT below.root_id, below.slot, below.provider_id
    FROM (
        SELECT
            above.root_id, above.slot, above.provider_id, subtree.subtree, subtree.subtrees, subtree.slots,
            bit_or(subtree.mark) OVER apex AS slots_below,
            bool_or(above.provider_id = above.ancestor_id) OVER apex AS fits_itself
        FROM above JOIN subtrees AS subtree ON subtree.slot = above.slot
        WINDOW apex AS (PARTITION BY above.root_id, subtree.subtree, above.ancestor_id)
    ) AS below
    WHERE below.fits_itself AND below.slots_below = below.slots
    GROUP BY below.root_id, below.slot, below.provider_id
    HAVING count(DISTINCT below.subtree) = min(below.subtrees)

), kept AS MATERIALIZED (
    SELECT
        fit.root_id, fit.slot, fit.mark, fit.place, fit.provider_id, fit.uuid, fit.tree_id, fit.parent_id, fit.shares, fit.free, fit.met
    FROM whole AS fit
    WHERE (fit.slot IN (SELECT subtree.slot FROM subtrees AS subtree)) IS NOT TRUE
       OR (fit.root_id, fit.slot, fit.provider_id) IN (SELECT tied.root_id, tied.slot, tied.provider_id FROM tied)

    -- trees in which every slot has a provider, and every set of traits too
), complete AS (
    SELECT fit.root_id FROM kept AS fit
    GROUP BY fit.root_id
    HAVING bit_or(fit.mark) = @marks::bigint AND COALESCE(strpos(bit_or(fit.met)::text, '0'), 0) = 0
)
SELECT
    fit.root_id::bigint AS root_id,
    fit.slot::int AS slot,
    fit.provider_id::bigint AS provider_id,
    COALESCE(fit.parent_id, 0)::bigint AS parent_id,
    fit.tree_id::bigint AS tree_id,
    fit.uuid::uuid AS uuid,
    fit.shares::bool AS shares,
    fit.free::bigint AS free,
    COALESCE(fit.met::text, '')::text AS met,
    fit.place::int AS place
FROM kept AS fit
WHERE (fit.root_id IN (SELECT complete.root_id FROM complete)) IS TRUE
UNION ALL
SELECT DISTINCT
    above.root_id, -1, above.ancestor_id, COALESCE(above.parent_id, 0), 0,
    '00000000-0000-0000-0000-000000000000'::uuid, false, 0, '', 0
FROM above
WHERE above.ancestor_id <> above.provider_id
  AND (above.root_id IN (SELECT complete.root_id FROM complete)) IS TRUE
ORDER BY root_id, slot, provider_id, place;

-- How rare each of several predicates is, to begin with the rarest: how many
-- providers meet it, counted up to a limit, and, if none has fewer, in how many of
-- some sampled trees anybody does. A predicate is a JSON object with class and amount, with traits or
-- with aggregates ('{ids}', any of them). With sharing, the trees that a sharing
-- provider reaches count as well. Called by Store.CandidateList when the first trees
-- gave too little.
-- Plan: for each predicate a range of inventories_class_id_free_idx,
-- provider_traits_trait_id_idx or provider_aggregates_aggregate_id_idx, as long as
-- the limit, and keys for each sampled tree.
-- name: CandidateProbe :many
WITH counted AS MATERIALIZED (
    SELECT predicate.part, predicate.place, (
        SELECT count(*) + COALESCE(sum(CASE WHEN @sharing::bool THEN (
            SELECT count(*) FROM (
                SELECT other.provider_id
                FROM provider_aggregates AS mine
                CROSS JOIN LATERAL (
                    SELECT one.provider_id FROM provider_aggregates AS one
                    WHERE one.aggregate_id = mine.aggregate_id LIMIT @most::int
                ) AS other
                WHERE mine.provider_id = met.provider_id AND mine.sharing
                LIMIT @most::int
            ) AS anchored
        ) END), 0)
        FROM (
            SELECT inventory.provider_id FROM inventories AS inventory
            WHERE inventory.class_id = (predicate.part ->> 'class')::int
              AND inventory.free >= (predicate.part ->> 'amount')::bigint
            UNION ALL
            SELECT present.provider_id
            FROM unnest((predicate.part ->> 'traits')::int[]) AS wanted (id)
            CROSS JOIN LATERAL (
                SELECT one.provider_id FROM provider_traits AS one WHERE one.trait_id = wanted.id LIMIT @most::int
            ) AS present
            UNION ALL
            SELECT member.provider_id
            FROM unnest((predicate.part ->> 'aggregates')::int[]) AS wanted (id)
            CROSS JOIN LATERAL (
                SELECT one.provider_id FROM provider_aggregates AS one WHERE one.aggregate_id = wanted.id LIMIT @most::int
            ) AS member
            LIMIT @most::int
        ) AS met
    ) AS found
    FROM jsonb_array_elements(@predicates::jsonb) WITH ORDINALITY AS predicate (part, place)
)
SELECT
    predicate.place::int AS place,
    predicate.found::bigint AS found,
    CASE WHEN (SELECT min(counted.found) FROM counted) < @most::int THEN 0 ELSE (
        SELECT count(*)
        FROM unnest(@sample::bigint[]) AS root (id)
        WHERE EXISTS (
            SELECT FROM (
                SELECT one.id, one.trait_ids, one.aggregate_ids FROM resource_providers AS one WHERE one.root_id = root.id OFFSET 0
            ) AS member
            WHERE member.trait_ids && (predicate.part ->> 'traits')::int[]
               OR member.aggregate_ids && (predicate.part ->> 'aggregates')::int[]
               OR EXISTS (
                SELECT FROM inventories AS inventory
                WHERE inventory.provider_id = member.id AND inventory.class_id = (predicate.part ->> 'class')::int
                  AND inventory.free >= (predicate.part ->> 'amount')::bigint))
    ) END::bigint AS sampled
FROM counted AS predicate
ORDER BY predicate.place;

-- All providers of some trees with all their inventories, for the summaries beside
-- candidates. Names of classes are looked up for custom ones only, which are those
-- that can be renamed. Called by Store.CandidateList with the trees that gave
-- candidates.
-- Plan: for each tree a range of resource_providers_root_id_idx, for each provider
-- one of inventories_pkey.
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
        SELECT COALESCE((SELECT class.name FROM resource_classes AS class WHERE class.id = wanted.id AND class.id >= 10000), '')
        FROM unnest(inventory.class_ids) WITH ORDINALITY AS wanted (id, place) ORDER BY wanted.place
    ) END::text[] AS custom_classes
FROM unnest(@roots::bigint[]) AS root (id)
CROSS JOIN LATERAL (
    SELECT one.id, one.uuid, one.root_id, one.parent_id, one.trait_ids
    FROM resource_providers AS one WHERE one.root_id = root.id OFFSET 0
) AS provider
CROSS JOIN LATERAL (
    SELECT
        COALESCE(array_agg(one.class_id), '{}') AS class_ids,
        COALESCE(array_agg(trunc((one.total - one.reserved) * one.allocation_ratio)), '{}') AS capacities,
        COALESCE(array_agg(one.used), '{}') AS used,
        max(one.class_id) AS last_class_id
    FROM (
        SELECT stock.class_id, stock.total, stock.reserved, stock.allocation_ratio, stock.used
        FROM inventories AS stock WHERE stock.provider_id = provider.id ORDER BY stock.class_id
    ) AS one
) AS inventory
ORDER BY provider.root_id, provider.id;

-- The names of some standard classes and of traits, which summaries show. Called by
-- Store.CandidateList for those that it meets for the first time.
-- Plan: primary keys.
-- name: CandidateSummaryNames :one
SELECT
    ARRAY(
        SELECT class.name FROM unnest(@class_ids::int[]) WITH ORDINALITY AS wanted (id, place)
        JOIN resource_classes AS class ON class.id = wanted.id ORDER BY wanted.place
    )::text[] AS classes,
    ARRAY(
        SELECT trait.name FROM unnest(@trait_ids::int[]) WITH ORDINALITY AS wanted (id, place)
        JOIN traits AS trait ON trait.id = wanted.id ORDER BY wanted.place
    )::text[] AS traits;
