-- Returns the roots of all trees that can use the sharing providers among the given ones and among
-- those of one tree: every tree with a member in one of their aggregates.
-- Called by Search.List if a provider that led to a tree shares, and for in_tree.
-- Plan: provider_aggregates_pkey, then the range of provider_aggregates_aggregate_id_idx for each aggregate: as many entries
-- as the aggregates have members.
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
    SELECT member.root_id FROM provider_aggregates AS member WHERE member.aggregate_id = shared.aggregate_id OFFSET 0
) AS member
ORDER BY member.root_id;

-- Returns the roots of the trees of some providers. Called by Search.FindForClaim for the providers of a consumer that gives
-- its allocations back. Locks nothing.
-- Plan: the primary key of resource_providers, once for each provider.
-- name: CandidateRootsOf :many
SELECT DISTINCT provider.root_id FROM resource_providers AS provider WHERE provider.id = ANY(@providers::bigint[]) ORDER BY provider.root_id;

-- Returns those of the given trees that have free capacity of a class, in the order of the provider with the least of
-- it, or with the most if most is set: of the providers that the tree can use, and that have at least the given amount. Of
-- trees that use the same sharing provider, its own one is the first.
-- Called by Search.List for an order of trees if few providers meet another condition of the query. Locks nothing.
-- Plan: for each tree a range of resource_providers_root_id_idx, with sharing those of its aggregates; inventories_pkey for
-- each provider.
-- name: CandidateTreesByFree :many
SELECT tree.root_id::bigint AS root_id
FROM (
    SELECT given.root_id, best.free, best.provider_id, best.root_id AS of_root
    FROM (SELECT DISTINCT root.id AS root_id FROM unnest(@roots::bigint[]) AS root (id)) AS given
    CROSS JOIN LATERAL (
        SELECT inventory.free, inventory.provider_id, inventory.root_id
        FROM (
            SELECT provider.id FROM resource_providers AS provider WHERE provider.root_id = given.root_id
            UNION ALL
            SELECT sharer.provider_id
            FROM resource_providers AS provider
            CROSS JOIN LATERAL unnest(provider.aggregate_ids) AS common (aggregate_id)
            CROSS JOIN LATERAL (
                SELECT member.provider_id FROM provider_aggregates AS member
                WHERE member.aggregate_id = common.aggregate_id AND member.sharing OFFSET 0
            ) AS sharer
            WHERE provider.root_id = given.root_id AND @sharing::bool
        ) AS usable
        CROSS JOIN LATERAL (
            SELECT inventory.free, inventory.provider_id, inventory.root_id FROM inventories AS inventory
            WHERE inventory.provider_id = usable.id AND inventory.class_id = @class_id::int AND inventory.free >= @amount::bigint OFFSET 0
        ) AS inventory
        ORDER BY
            CASE WHEN @most::bool THEN -inventory.free ELSE inventory.free END,
            CASE WHEN @most::bool THEN -inventory.provider_id ELSE inventory.provider_id END
        LIMIT 1
    ) AS best
) AS tree
ORDER BY
    CASE WHEN @most::bool THEN -tree.free ELSE tree.free END,
    CASE WHEN @most::bool THEN -tree.provider_id ELSE tree.provider_id END,
    tree.root_id <> tree.of_root, tree.root_id;

-- Estimates the selectivity of several predicates, so that the search can start with the rarest: the
-- number of providers that satisfy each one, counted up to a limit, and, if every count reaches the
-- limit, the number of sampled trees in which any provider satisfies it. A predicate is a JSON object
-- with class and amount, with traits or with aggregates ('{ids}', any of them), or with class and count:
-- trees in which so many providers have an inventory of the class. With sharing, the trees that can use
-- a sharing provider count as well. Of common traits or aggregates, if they are at most max_ids, also returns
-- the first and the last root that has them: a randomized search begins between them.
-- Called by Search.List if the first trees gave too few candidates.
-- Plan: for each predicate a range of inventories_class_id_free_idx, provider_traits_trait_id_idx,
-- provider_aggregates_aggregate_id_idx or tree_classes_class_id_providers_idx, as long as the limit, and
-- both ends of those of traits and aggregates; keys for each sampled tree.
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
            -- The order of the index; without it PostgreSQL scans the table in custom plans.
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
                SELECT provider_trait.provider_id FROM provider_traits AS provider_trait WHERE provider_trait.trait_id = requested.id
                ORDER BY provider_trait.root_id, provider_trait.provider_id LIMIT @max_rows::int
            ) AS provider_trait
            UNION ALL
            SELECT member.provider_id
            FROM unnest((predicate.part ->> 'aggregates')::int[]) AS requested (id)
            CROSS JOIN LATERAL (
                SELECT member.provider_id FROM provider_aggregates AS member WHERE member.aggregate_id = requested.id
                ORDER BY member.root_id, member.provider_id LIMIT @max_rows::int
            ) AS member
            UNION ALL
            SELECT with_count.root_id FROM (
                SELECT tree.root_id FROM tree_classes AS tree
                WHERE tree.class_id = (predicate.part ->> 'class')::int AND tree.providers >= (predicate.part ->> 'count')::int
                ORDER BY tree.providers LIMIT @max_rows::int
            ) AS with_count
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
                  AND inventory.free >= (predicate.part ->> 'amount')::bigint)
        ) OR EXISTS (
            SELECT FROM tree_classes AS tree
            WHERE tree.root_id = root.id AND tree.class_id = (predicate.part ->> 'class')::int
              AND tree.providers >= (predicate.part ->> 'count')::int)
    ) END::bigint AS sampled,
    COALESCE(range.first_root, 0)::bigint AS first_root,
    COALESCE(range.last_root, 0)::bigint AS last_root
FROM counted AS predicate
CROSS JOIN LATERAL (
    SELECT min(one.first_root) AS first_root, max(one.last_root) AS last_root
    FROM (
        SELECT
            (SELECT min(member.root_id) FROM provider_traits AS member WHERE member.trait_id = requested.id) AS first_root,
            (SELECT max(member.root_id) FROM provider_traits AS member WHERE member.trait_id = requested.id) AS last_root
        FROM unnest((predicate.part ->> 'traits')::int[]) AS requested (id)
        WHERE cardinality((predicate.part ->> 'traits')::int[]) <= @max_ids::int
        UNION ALL
        SELECT
            (SELECT min(member.root_id) FROM provider_aggregates AS member WHERE member.aggregate_id = requested.id),
            (SELECT max(member.root_id) FROM provider_aggregates AS member WHERE member.aggregate_id = requested.id)
        FROM unnest((predicate.part ->> 'aggregates')::int[]) AS requested (id)
        WHERE cardinality((predicate.part ->> 'aggregates')::int[]) <= @max_ids::int
    ) AS one
    WHERE predicate.found >= @max_rows::int
) AS range
ORDER BY predicate.position;

-- Returns the most of a class that a provider could give if nothing were allocated, and how many inventories of the class this
-- statement has looked at: those with the most and those with the least free capacity, all of them if there are few.
-- Called by Search.EmptyReason for a class of which no provider has enough free capacity. Locks nothing.
-- Plan: both ends of the range of inventories_class_id_free_idx, as long as the limit.
-- name: CandidateLargest :one
SELECT
    count(*)::bigint AS looked_at,
    COALESCE(max(LEAST(found.max_unit, trunc((found.total - found.reserved) * found.allocation_ratio))), 0)::float8 AS largest
FROM (
    (
        SELECT inventory.max_unit, inventory.total, inventory.reserved, inventory.allocation_ratio FROM inventories AS inventory
        WHERE inventory.class_id = @class_id::int
        ORDER BY inventory.free DESC, inventory.provider_id DESC
        LIMIT @max_rows::int
    )
    UNION ALL
    (
        SELECT inventory.max_unit, inventory.total, inventory.reserved, inventory.allocation_ratio FROM inventories AS inventory
        WHERE inventory.class_id = @class_id::int
        ORDER BY inventory.free, inventory.provider_id
        LIMIT @max_rows::int
    )
) AS found;

-- Returns which predicates the providers of some trees satisfy, so that the search can find two that are common, but rare
-- together. A predicate is a JSON object with a bit of its own, and traits or aggregates ('{ids}', any of them). Providers that
-- satisfy none are omitted. With sharing, a row of root 0 has those that any sharing provider satisfies. Called by Search.List
-- if the trees of the chosen lead keep giving too few candidates. Locks nothing.
-- Plan: resource_providers_root_id_idx for all trees at once; provider_aggregates_sharing_idx and a primary key for each sharing
-- provider.
-- name: CandidateSample :many
WITH predicates AS MATERIALIZED (
    SELECT
        (part ->> 'bit')::bigint AS bit,
        (part ->> 'traits')::int[] AS traits,
        (part ->> 'aggregates')::int[] AS aggregates
    FROM jsonb_array_elements(@predicates::jsonb) AS part
)
SELECT member.root_id::bigint AS root_id, member.met::bigint AS met
FROM (
    SELECT provider.root_id, (
        SELECT bit_or(predicate.bit) FROM predicates AS predicate
        WHERE provider.trait_ids && predicate.traits OR provider.aggregate_ids && predicate.aggregates
    ) AS met
    FROM resource_providers AS provider
    WHERE provider.root_id = ANY(@roots::bigint[])
    UNION ALL
    SELECT 0, bit_or(predicate.bit)
    FROM (SELECT DISTINCT member.provider_id FROM provider_aggregates AS member WHERE member.sharing AND @sharing::bool) AS sharer
    CROSS JOIN LATERAL (
        SELECT provider.trait_ids, provider.aggregate_ids FROM resource_providers AS provider WHERE provider.id = sharer.provider_id OFFSET 0
    ) AS provider
    JOIN predicates AS predicate ON provider.trait_ids && predicate.traits OR provider.aggregate_ids && predicate.aggregates
) AS member
WHERE member.met IS NOT NULL
ORDER BY member.root_id;

-- Returns the next trees that satisfy two conditions together, each a trait or an aggregate: see candidate_roots_by_pair.
-- Called by Search.List for two predicates that are common, but rare together. Locks nothing.
-- Plan: a merge join of two index ranges; its cost follows the number of providers that satisfy either.
-- name: CandidateRootsByPair :many
SELECT pair.root_id::bigint AS root_id
FROM candidate_roots_by_pair(
    @aggregates::int, @first::int, @second::int, @together::bool, @after::bigint, @max_rows::int
) AS pair (root_id)
ORDER BY pair.root_id;
