-- Resolves the names in a candidate query: ids of classes, traits and aggregates (-1 for those that do
-- not exist), the roots of the in_tree providers (-1 likewise), whether any provider shares its inventory
-- through an aggregate, and the number of name changes.
-- Called by Search.List for names that the server has not seen yet. Locks nothing.
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
    ((SELECT min(member.aggregate_id) FROM provider_aggregates AS member WHERE member.sharing) IS NOT NULL)::bool AS sharing,
    (SELECT counter.changes FROM name_changes AS counter WHERE counter.only_row)::bigint AS name_changes;

-- Returns a page of trees, each with all providers and inventories, and which of them a candidate query can use: the
-- main query of the search. Rows are of three kinds, in no order:
--   the page      has no id; bits is the number of name changes, free is 1 if any provider shares its inventory, and list
--                 has, in the order of the search, {root, the provider that led to it, its position in the lead, flags}
--   a provider    has a uuid; bits are the conditions that it meets, and used is its revision
--   an inventory  has a class_id; id is its provider, bits the amount that fits in it; one row for each of several amounts
-- Trees whose root lacks root_required or has root_forbidden, and those of the providers not_in_tree, are in the list only.
-- Called by Search.List, outside of a transaction if one page has all candidates, and for provider summaries. If any
-- provider shares, if the query has same_subtree, or for other leads, CandidatePageGeneral takes over.
--
-- A condition is what a group requires of a provider beside resources, as a JSON object with a bit of its own and any of
--   required, forbidden      '{trait ids}': all, none
--   required_any             '{"{trait ids}"}': one of each
--   member_of, not_member_of '{aggregate ids}': any, none
--   member_of_too            '{"{aggregate ids}"}': also any of each
--   root                     the only tree
-- An amount is a JSON object with a bit of its own, class, amount, and least: the free capacity that suffices. That is the
-- amount itself, or 1 for an amount that several providers can share, which has shared as well. More than 62 of them take
-- several queries.
--
-- lead says how the page finds its trees: 'none' takes roots, 'id' the next roots after after_id up to until_id, 'free'
-- the trees with the next inventories of class_id, those with the most free capacity first, after (after_position, after_id)
-- up to (until_position, until_id). If wraps is set and these are fewer than max_rows, the last two continue at the beginning,
-- up to start_id or (start_position, start_id). 'random' is 'id' that begins behind a random root: the first one after
-- after_position in an order of hashes, so that missing ids before a root do not make it likelier.
-- Locks nothing.
-- Plan: the range of one index for the lead, as long as the limit; then ranges of resource_providers_root_id_idx and
-- inventories_pkey for all trees at once. There is no join of large sets, so no estimate matters. Cost follows the size of
-- the trees.
-- name: CandidatePage :many
WITH conditions AS MATERIALIZED (
    SELECT
        (part ->> 'bit')::bigint AS bit,
        (part ->> 'required')::int[] AS required,
        (part ->> 'forbidden')::int[] AS forbidden,
        (part ->> 'required_any')::text[] AS required_any,
        (part ->> 'member_of')::int[] AS member_of,
        (part ->> 'member_of_too')::text[] AS member_of_too,
        (part ->> 'not_member_of')::int[] AS not_member_of,
        (part ->> 'root')::bigint AS root_id
    FROM jsonb_array_elements(@conditions::jsonb) AS part

), amounts AS MATERIALIZED (
    SELECT
        (part ->> 'bit')::bigint AS bit,
        (part ->> 'class')::int AS class_id,
        (part ->> 'amount')::bigint AS amount,
        (part ->> 'least')::bigint AS least
    FROM jsonb_array_elements(@amounts::jsonb) AS part

), random_start AS MATERIALIZED (
    SELECT root.id FROM resource_providers AS root
    WHERE @lead::text = 'random' AND root.parent_id IS NULL AND hashint8extended(root.id, 0) > @after_position::bigint
    ORDER BY hashint8extended(root.id, 0), root.id
    LIMIT 1

), found AS MATERIALIZED (
    SELECT given.root_id, 0::bigint AS provider_id, 0::bigint AS position
    FROM unnest(@roots::bigint[]) AS given (root_id)
    UNION ALL
    (
        SELECT next.id, next.id, 0::bigint
        FROM (
            (
                SELECT root.id FROM resource_providers AS root
                WHERE @lead::text IN ('id', 'random') AND root.parent_id IS NULL
                  AND root.id > COALESCE((SELECT start.id FROM random_start AS start), @after_id::bigint) AND root.id <= @until_id::bigint
                ORDER BY root.id
                LIMIT @max_rows::int
            )
            UNION ALL
            (
                SELECT root.id FROM resource_providers AS root
                WHERE @lead::text IN ('id', 'random') AND @wraps::bool AND root.parent_id IS NULL
                  AND root.id <= COALESCE((SELECT start.id FROM random_start AS start), @start_id::bigint)
                ORDER BY root.id
                LIMIT @max_rows::int
            )
        ) AS next
        LIMIT @max_rows::int
    )
    UNION ALL
    (
        SELECT roomy.root_id, roomy.provider_id, roomy.free
        FROM (
            (
                SELECT inventory.root_id, inventory.provider_id, inventory.free FROM inventories AS inventory
                WHERE @lead::text = 'free' AND inventory.class_id = @class_id::int
                  AND (inventory.free, inventory.provider_id) < (@after_position::bigint, @after_id::bigint)
                  AND (inventory.free, inventory.provider_id) >= (@until_position::bigint, @until_id::bigint)
                ORDER BY inventory.free DESC, inventory.provider_id DESC
                LIMIT @max_rows::int
            )
            UNION ALL
            (
                SELECT inventory.root_id, inventory.provider_id, inventory.free FROM inventories AS inventory
                WHERE @lead::text = 'free' AND @wraps::bool AND inventory.class_id = @class_id::int
                  AND (inventory.free, inventory.provider_id) >= (@start_position::bigint, @start_id::bigint)
                ORDER BY inventory.free DESC, inventory.provider_id DESC
                LIMIT @max_rows::int
            )
        ) AS roomy
        LIMIT @max_rows::int
    )

), roots AS MATERIALIZED (
    SELECT found.root_id AS id FROM found
    WHERE (cardinality(@root_required::int[]) + cardinality(@root_forbidden::int[]) = 0 OR (
        SELECT root.trait_ids @> @root_required::int[] AND NOT root.trait_ids && @root_forbidden::int[]
        FROM resource_providers AS root WHERE root.id = found.root_id))
      AND (cardinality(@not_in_tree::uuid[]) = 0 OR found.root_id NOT IN (
        SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = ANY(@not_in_tree::uuid[])))
)
SELECT
    NULL::bigint AS id,
    NULL::bigint AS root_id,
    NULL::bigint AS parent_id,
    NULL::uuid AS uuid,
    NULL::int[] AS trait_ids,
    (SELECT counter.changes FROM name_changes AS counter WHERE counter.only_row)::bigint AS bits,
    NULL::int AS class_id,
    NULL::float8 AS capacity,
    NULL::bigint AS used,
    CASE WHEN (SELECT min(member.aggregate_id) FROM provider_aggregates AS member WHERE member.sharing) IS NULL THEN 0 ELSE 1 END::bigint AS free,
    (SELECT array_agg(ARRAY[found.root_id, found.provider_id, found.position, 0]) FROM found)::bigint[] AS list
UNION ALL
SELECT provider.id, provider.root_id, provider.parent_id, provider.uuid, provider.trait_ids, (
        SELECT bit_or(condition.bit) FROM conditions AS condition
        WHERE (condition.root_id IS NULL OR condition.root_id = provider.root_id)
          AND candidate_meets(
            provider.trait_ids, provider.aggregate_ids, condition.required, condition.forbidden, condition.required_any,
            condition.member_of, condition.member_of_too, condition.not_member_of)
    ), NULL, NULL, provider.revision, NULL, NULL
FROM resource_providers AS provider
WHERE provider.root_id = ANY(ARRAY(SELECT root.id FROM roots AS root))
UNION ALL
SELECT
    inventory.provider_id, NULL, NULL, NULL, NULL, amount.bit, inventory.class_id,
    trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio), inventory.used, inventory.free, NULL
FROM inventories AS inventory
LEFT JOIN amounts AS amount
    ON amount.class_id = inventory.class_id AND inventory.free >= amount.least
    AND inventory.min_unit <= amount.amount AND amount.amount % inventory.step_size = 0
WHERE inventory.provider_id = ANY(ARRAY(
    SELECT member.id FROM resource_providers AS member WHERE member.root_id = ANY(ARRAY(SELECT root.id FROM roots AS root))));

-- CandidatePage for deployments with sharing providers, for same_subtree, for roots in aggregates, for shared or freed
-- amounts, and for further leads: 'trait' and 'aggregate' take the trees of the next providers with any of lead_ids, up to
-- (until_position, until_id) (a position is the root and the provider), 'pack' those of the next inventories of class_id with
-- the least free capacity, 'count' the next trees with so many providers of class_id (a position is the number of providers
-- and the root). Called by Search.List.
--
-- The root of a tree is in an aggregate of each set of root_member_of ('{"{aggregate ids}"}'), and in none of
-- root_not_member_of. An inventory whose amount several providers can share has list {min_unit, step_size}.
--
-- If frees is set, the amounts of freed count as free: what a consumer gives back that gets a candidate. They are JSON objects
-- with provider, class and amount, one for each inventory.
--
-- Beside its own providers, a tree can use the sharing providers that are in an aggregate of any of its members. Their
-- trees are part of the page, and a row without id and without bits has a list of {root of a tree, sharing provider that it
-- can use}. Flags of a root are 1 if root_required, root_forbidden or not_in_tree exclude it, and 2 if the provider that led
-- to it shares: further trees can use it.
--
-- If filtered is set, the query returns only trees in which every slot has a provider, and in which, for each same_subtree,
-- a provider matches a slot of it and has, itself or among its descendants, a provider for every slot. A slot is a
-- suffixed group, or one class of the unsuffixed group: a JSON object with mark (a bit of its own), conditions and amounts
-- (their bits). subtrees are JSON objects with mark and slots (the marks of its slots). Go checks the same for the chosen
-- providers together.
-- Locks nothing.
-- Plan: as CandidatePage. If filtered is set, the providers and inventories of all trees are read for the filter, and those of
-- the returned trees once more; so the search sets it only if many trees may be dropped. The recursion reads a primary key
-- for each ancestor of a match, once for equal matches below it. Neither executes without filtered, nor "reached" without
-- sharing.
-- name: CandidatePageGeneral :many
WITH RECURSIVE conditions AS MATERIALIZED (
    SELECT
        (part ->> 'bit')::bigint AS bit,
        (part ->> 'required')::int[] AS required,
        (part ->> 'forbidden')::int[] AS forbidden,
        (part ->> 'required_any')::text[] AS required_any,
        (part ->> 'member_of')::int[] AS member_of,
        (part ->> 'member_of_too')::text[] AS member_of_too,
        (part ->> 'not_member_of')::int[] AS not_member_of,
        (part ->> 'root')::bigint AS root_id
    FROM jsonb_array_elements(@conditions::jsonb) AS part

), amounts AS MATERIALIZED (
    SELECT
        (part ->> 'shared') IS NOT NULL AS shared,
        (part ->> 'bit')::bigint AS bit,
        (part ->> 'class')::int AS class_id,
        (part ->> 'amount')::bigint AS amount,
        (part ->> 'least')::bigint AS least
    FROM jsonb_array_elements(@amounts::jsonb) AS part

), freed AS MATERIALIZED (
    SELECT
        (part ->> 'provider')::bigint AS provider_id,
        (part ->> 'class')::int AS class_id,
        (part ->> 'amount')::bigint AS amount
    FROM jsonb_array_elements(@freed::jsonb) AS part

), random_start AS MATERIALIZED (
    SELECT root.id FROM resource_providers AS root
    WHERE @lead::text = 'random' AND root.parent_id IS NULL AND hashint8extended(root.id, 0) > @after_position::bigint
    ORDER BY hashint8extended(root.id, 0), root.id
    LIMIT 1

), found AS MATERIALIZED (
    SELECT given.root_id, 0::bigint AS provider_id, 0::bigint AS position
    FROM unnest(@roots::bigint[]) AS given (root_id)
    UNION ALL
    (
        SELECT next.id, next.id, 0::bigint
        FROM (
            (
                SELECT root.id FROM resource_providers AS root
                WHERE @lead::text IN ('id', 'random') AND root.parent_id IS NULL
                  AND root.id > COALESCE((SELECT start.id FROM random_start AS start), @after_id::bigint) AND root.id <= @until_id::bigint
                ORDER BY root.id
                LIMIT @max_rows::int
            )
            UNION ALL
            (
                SELECT root.id FROM resource_providers AS root
                WHERE @lead::text IN ('id', 'random') AND @wraps::bool AND root.parent_id IS NULL
                  AND root.id <= COALESCE((SELECT start.id FROM random_start AS start), @start_id::bigint)
                ORDER BY root.id
                LIMIT @max_rows::int
            )
        ) AS next
        LIMIT @max_rows::int
    )
    UNION ALL
    (
        SELECT roomy.root_id, roomy.provider_id, roomy.free
        FROM (
            (
                SELECT inventory.root_id, inventory.provider_id, inventory.free FROM inventories AS inventory
                WHERE @lead::text = 'free' AND inventory.class_id = @class_id::int
                  AND (inventory.free, inventory.provider_id) < (@after_position::bigint, @after_id::bigint)
                  AND (inventory.free, inventory.provider_id) >= (@until_position::bigint, @until_id::bigint)
                ORDER BY inventory.free DESC, inventory.provider_id DESC
                LIMIT @max_rows::int
            )
            UNION ALL
            (
                SELECT inventory.root_id, inventory.provider_id, inventory.free FROM inventories AS inventory
                WHERE @lead::text = 'free' AND @wraps::bool AND inventory.class_id = @class_id::int
                  AND (inventory.free, inventory.provider_id) >= (@start_position::bigint, @start_id::bigint)
                ORDER BY inventory.free DESC, inventory.provider_id DESC
                LIMIT @max_rows::int
            )
        ) AS roomy
        LIMIT @max_rows::int
    )
    UNION ALL
    SELECT rare.root_id, rare.provider_id, rare.root_id
    FROM (
        SELECT DISTINCT member.root_id, member.provider_id
        FROM unnest(@lead_ids::int[]) AS requested (id)
        CROSS JOIN LATERAL (
            (
                SELECT provider_trait.root_id, provider_trait.provider_id FROM provider_traits AS provider_trait
                WHERE @lead::text = 'trait' AND provider_trait.trait_id = requested.id
                  AND (provider_trait.root_id, provider_trait.provider_id) > (@after_position::bigint, @after_id::bigint)
                  AND (provider_trait.root_id, provider_trait.provider_id) <= (@until_position::bigint, @until_id::bigint)
                ORDER BY provider_trait.root_id, provider_trait.provider_id
                LIMIT @max_rows::int
            )
            UNION ALL
            (
                SELECT member.root_id, member.provider_id FROM provider_aggregates AS member
                WHERE @lead::text = 'aggregate' AND member.aggregate_id = requested.id
                  AND (member.root_id, member.provider_id) > (@after_position::bigint, @after_id::bigint)
                  AND (member.root_id, member.provider_id) <= (@until_position::bigint, @until_id::bigint)
                ORDER BY member.root_id, member.provider_id
                LIMIT @max_rows::int
            )
        ) AS member
        ORDER BY member.root_id, member.provider_id
        LIMIT @max_rows::int
    ) AS rare
    UNION ALL
    (
        SELECT inventory.root_id, inventory.provider_id, inventory.free FROM inventories AS inventory
        WHERE @lead::text = 'pack' AND inventory.class_id = @class_id::int
          AND (inventory.free, inventory.provider_id) > (@after_position::bigint, @after_id::bigint)
        ORDER BY inventory.free, inventory.provider_id
        LIMIT @max_rows::int
    )
    UNION ALL
    (
        SELECT tree.root_id, tree.root_id, tree.providers FROM tree_classes AS tree
        WHERE @lead::text = 'count' AND tree.class_id = @class_id::int
          AND (tree.providers, tree.root_id) > (@after_position::bigint, @after_id::bigint)
        ORDER BY tree.providers, tree.root_id
        LIMIT @max_rows::int
    )

), roots AS MATERIALIZED (
    SELECT found.root_id AS id FROM found
    WHERE (cardinality(@root_required::int[]) + cardinality(@root_forbidden::int[]) = 0 OR (
        SELECT root.trait_ids @> @root_required::int[] AND NOT root.trait_ids && @root_forbidden::int[]
        FROM resource_providers AS root WHERE root.id = found.root_id))
      AND (cardinality(@not_in_tree::uuid[]) = 0 OR found.root_id NOT IN (
        SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = ANY(@not_in_tree::uuid[])))
      AND (cardinality(@root_member_of::text[]) + cardinality(@root_not_member_of::int[]) = 0 OR (
        SELECT array_overlaps_each(root.aggregate_ids, @root_member_of::text[]) AND NOT root.aggregate_ids && @root_not_member_of::int[]
        FROM resource_providers AS root WHERE root.id = found.root_id))

), reached AS MATERIALIZED (
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

), sharing_trees AS MATERIALIZED (
    SELECT (SELECT provider.root_id FROM resource_providers AS provider WHERE provider.id = sharer.provider_id) AS id
    FROM (SELECT DISTINCT reached.provider_id FROM reached) AS sharer

), trees AS MATERIALIZED (
    SELECT root.id FROM roots AS root
    UNION
    SELECT tree.id FROM sharing_trees AS tree

), providers AS NOT MATERIALIZED (
    SELECT provider.id, provider.root_id, provider.parent_id, provider.uuid, provider.trait_ids, provider.revision, (
            SELECT bit_or(condition.bit) FROM conditions AS condition
            WHERE (condition.root_id IS NULL OR condition.root_id = provider.root_id)
              AND candidate_meets(
                provider.trait_ids, provider.aggregate_ids, condition.required, condition.forbidden, condition.required_any,
                condition.member_of, condition.member_of_too, condition.not_member_of)
        ) AS met
    FROM resource_providers AS provider

), capacities AS NOT MATERIALIZED (
    SELECT
        inventory.provider_id, inventory.class_id,
        trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio) AS capacity,
        inventory.used, inventory.free, amount.bit AS fits,
        CASE WHEN amount.shared THEN ARRAY[inventory.min_unit, inventory.step_size]::bigint[] END AS units
    FROM (
        SELECT
            own.provider_id, own.class_id, own.total, own.reserved, own.allocation_ratio, own.min_unit, own.step_size, own.used,
            CASE WHEN @frees::bool THEN COALESCE((
                SELECT greatest(
                    least(own.max_unit, trunc((own.total - own.reserved) * own.allocation_ratio) - own.used + freed.amount), -9007199254740992
                )::bigint
                FROM freed WHERE freed.provider_id = own.provider_id AND freed.class_id = own.class_id
            ), own.free) ELSE own.free END AS free
        FROM inventories AS own
    ) AS inventory
    LEFT JOIN amounts AS amount
        ON amount.class_id = inventory.class_id AND inventory.free >= amount.least
        AND inventory.min_unit <= amount.amount AND amount.amount % inventory.step_size = 0

), slots AS MATERIALIZED (
    SELECT
        (part ->> 'mark')::bigint AS mark,
        (part ->> 'conditions')::bigint AS conditions,
        (part ->> 'amounts')::bigint AS amounts
    FROM jsonb_array_elements(@slots::jsonb) AS part

), subtrees AS MATERIALIZED (
    SELECT (part ->> 'mark')::bigint AS mark, (part ->> 'slots')::bigint AS slots
    FROM jsonb_array_elements(@subtrees::jsonb) AS part

    -- which slots each provider matches; grouping both lists takes no join
), matches AS MATERIALIZED (
    SELECT provider.id, provider.root_id, provider.parent_id, (
        SELECT bit_or(slot.mark) FROM slots AS slot
        WHERE provider.met & slot.conditions = slot.conditions AND provider.fits & slot.amounts = slot.amounts
    ) AS marks
    FROM (
        SELECT
            part.id, max(part.root_id) AS root_id, max(part.parent_id) AS parent_id,
            COALESCE(bit_or(part.met), 0) AS met, COALESCE(bit_or(part.fits), 0) AS fits
        FROM (
            SELECT provider.id, provider.root_id, provider.parent_id, provider.met, NULL::bigint AS fits
            FROM providers AS provider WHERE @filtered::bool AND provider.root_id = ANY(ARRAY(SELECT tree.id FROM trees AS tree))
            UNION ALL
            SELECT capacity.provider_id, NULL, NULL, NULL, capacity.fits
            FROM capacities AS capacity
            WHERE @filtered::bool AND capacity.fits IS NOT NULL AND capacity.provider_id = ANY(ARRAY(
                SELECT member.id FROM resource_providers AS member WHERE member.root_id = ANY(ARRAY(SELECT tree.id FROM trees AS tree))))
        ) AS part
        GROUP BY part.id
    ) AS provider

    -- the slots of subtrees that are matched below each provider; UNION merges equal ones
), below AS (
    SELECT match.parent_id AS id, match.marks & @subtree_slots::bigint AS marks
    FROM matches AS match WHERE match.marks & @subtree_slots::bigint <> 0 AND match.parent_id IS NOT NULL
    UNION
    SELECT above.id, below.marks
    FROM below
    CROSS JOIN LATERAL (
        SELECT provider.parent_id AS id FROM resource_providers AS provider WHERE provider.id = below.id OFFSET 0
    ) AS above
    WHERE above.id IS NOT NULL

), marked AS MATERIALIZED (
    SELECT provider.id, provider.root_id, provider.own AS slots, (
        SELECT bit_or(subtree.mark) FROM subtrees AS subtree
        WHERE provider.own & subtree.slots <> 0 AND provider.at_or_below & subtree.slots = subtree.slots
    ) AS subtrees
    FROM (
        SELECT part.id, max(part.root_id) AS root_id, bit_or(part.own) AS own, bit_or(part.marks) AS at_or_below
        FROM (
            SELECT match.id, match.root_id, match.marks AS own, match.marks FROM matches AS match WHERE match.marks IS NOT NULL
            UNION ALL
            SELECT below.id, NULL, NULL, below.marks FROM below
        ) AS part
        GROUP BY part.id
    ) AS provider

), complete AS MATERIALIZED (
    SELECT usable.root_id
    FROM (
        SELECT provider.root_id, provider.slots, provider.subtrees FROM marked AS provider
        UNION ALL
        SELECT reached.root_id, provider.slots, provider.subtrees
        FROM reached JOIN marked AS provider ON provider.id = reached.provider_id
    ) AS usable
    GROUP BY usable.root_id
    HAVING bit_or(usable.slots) & @marks::bigint = @marks::bigint AND bit_or(usable.subtrees) & @subtree_marks::bigint = @subtree_marks::bigint

), returned AS MATERIALIZED (
    SELECT tree.id FROM trees AS tree WHERE NOT @filtered::bool
    UNION ALL
    SELECT complete.root_id FROM complete WHERE @filtered::bool
    UNION ALL
    SELECT tree.id FROM sharing_trees AS tree WHERE @filtered::bool
)
SELECT
    NULL::bigint AS id,
    NULL::bigint AS root_id,
    NULL::bigint AS parent_id,
    NULL::uuid AS uuid,
    NULL::int[] AS trait_ids,
    (SELECT counter.changes FROM name_changes AS counter WHERE counter.only_row)::bigint AS bits,
    NULL::int AS class_id,
    NULL::float8 AS capacity,
    NULL::bigint AS used,
    CASE WHEN (SELECT min(member.aggregate_id) FROM provider_aggregates AS member WHERE member.sharing) IS NULL THEN 0 ELSE 1 END::bigint AS free,
    (SELECT array_agg(ARRAY[found.root_id, found.provider_id, found.position, 
        CASE WHEN (found.root_id IN (SELECT root.id FROM roots AS root)) IS TRUE THEN 0 ELSE 1 END
        + CASE WHEN @sharing::bool AND EXISTS (
            SELECT FROM provider_aggregates AS member WHERE member.provider_id = found.provider_id AND member.sharing OFFSET 0
        ) THEN 2 ELSE 0 END]) FROM found)::bigint[] AS list
UNION ALL
SELECT provider.id, provider.root_id, provider.parent_id, provider.uuid, provider.trait_ids, provider.met, NULL, NULL, provider.revision, NULL, NULL
FROM providers AS provider
WHERE provider.root_id = ANY(ARRAY(SELECT tree.id FROM returned AS tree))
UNION ALL
SELECT
    capacity.provider_id, NULL, NULL, NULL, NULL, capacity.fits, capacity.class_id, capacity.capacity, capacity.used, capacity.free,
    capacity.units
FROM capacities AS capacity
WHERE capacity.provider_id = ANY(ARRAY(
    SELECT member.id FROM resource_providers AS member WHERE member.root_id = ANY(ARRAY(SELECT tree.id FROM returned AS tree))))
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, array_agg(ARRAY[reached.root_id, reached.provider_id])
FROM reached;

-- Returns the names of classes and traits in summaries. Called by Search.List for those whose names it does not know yet.
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
