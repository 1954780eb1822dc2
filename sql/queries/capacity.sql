-- Sums inventories by resource class: of all providers, of those that conditions select, for each of some aggregates, or for each
-- tree of a page. For one provider and class
--   capacity = trunc((total - reserved) * allocation_ratio), which is negative if reserved exceeds total
--   free     = capacity - used, or 0;  over = used - capacity, or 0;  so capacity = used + free - over, in sums too
-- Amounts are float8, because ratios reach 3.4e38: sums are exact to 2^53, and no product or sum overflows. The
-- column inventories.free is what one claim can get: it is also bounded by max_unit.
--
-- The first row has the time of the snapshot, and the last root of the page if there are more trees; the others are the sums.
-- group_id is the position of an aggregate or of a tree in the page, from 1; 0 without groups. sizes and the arrays beside it
-- have an element for each power of two 2^(size - 1) that is the greatest not above the free capacity of some provider. free
-- is the sum of size_free.
-- class_ids: only these; empty: all. A provider meets a condition on traits or aggregates if it or the root of its tree does, and
-- counts for an aggregate likewise. Sets of required and member_of are texts '{ids}': any of each. forbidden, not_member_of:
-- without providers that have such a trait or aggregate, or whose root has it.
-- lead names the range that finds the providers, and only its branches run:
--   in_tree     one tree                            trees     max_roots trees after a root
--   aggregates  groups: their members               member_of, required   the members of any of the first set
--   empty       no range: all providers
-- Called by Store.CapacityShow. Locks nothing.
-- Plan: a range of resource_providers_roots_idx, provider_aggregates_aggregate_id_idx or provider_traits_trait_id_idx, or
-- resource_providers_uuid_key. If it leads to few providers: for each root resource_providers_root_id_idx; for each provider
-- resource_providers_pkey twice and inventories_pkey. If it leads to more than a sixth of all, as far as PostgreSQL's statistics
-- tell, or if there is none: one scan of inventories, which compares the members, the excluded providers, and for further
-- sets the selected ones, by hashes; sums are a hash. A range of class_ids would not be faster: most clouds have few classes, and
-- each is a large part of the table.
-- name: CapacityShow :many
WITH page AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY root.id) AS group_id, root.id
    FROM (
        (
            SELECT root.id FROM resource_providers AS root
            WHERE @lead::text = 'trees' AND root.parent_id IS NULL AND root.id > @after_root::bigint
            ORDER BY root.id LIMIT @max_roots::int
        )
        UNION ALL
        SELECT named.root_id FROM resource_providers AS named
        WHERE @lead::text = 'in_tree' AND named.uuid = sqlc.narg('in_tree')::uuid AND named.root_id > @after_root::bigint
    ) AS root

), member AS MATERIALIZED (
    SELECT requested.position AS group_id, member.provider_id, member.root_id
    FROM unnest(@aggregates::int[]) WITH ORDINALITY AS requested (id, position)
    CROSS JOIN LATERAL (
        SELECT member.provider_id, member.root_id FROM provider_aggregates AS member WHERE member.aggregate_id = requested.id OFFSET 0
    ) AS member
    WHERE @lead::text = 'aggregates'
    UNION ALL
    SELECT 0::bigint, member.provider_id, member.root_id
    FROM unnest((@member_of::text[])[1]::int[]) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT member.provider_id, member.root_id FROM provider_aggregates AS member WHERE member.aggregate_id = requested.id OFFSET 0
    ) AS member
    WHERE @lead::text = 'member_of'
    UNION ALL
    SELECT 0::bigint, member.provider_id, member.root_id
    FROM unnest((@required::text[])[1]::int[]) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT member.provider_id, member.root_id FROM provider_traits AS member WHERE member.trait_id = requested.id OFFSET 0
    ) AS member
    WHERE @lead::text = 'required'

), estimate AS MATERIALIZED (
    -- Members that are roots stand for a tree of average size. Without statistics the providers count as few.
    SELECT @lead::text = '' OR sqlc.narg('in_tree')::uuid IS NULL AND providers.count > 0 AND (
        SELECT count(*) + count(*) FILTER (WHERE member.provider_id = member.root_id) * (providers.count / GREATEST(roots.count, 1) - 1)
        FROM member
    ) > providers.count / 6 AS is_large
    FROM (SELECT known.reltuples::float8 AS count FROM pg_catalog.pg_class AS known WHERE known.oid = 'resource_providers'::regclass) AS providers
    CROSS JOIN (
        SELECT known.reltuples::float8 AS count FROM pg_catalog.pg_class AS known WHERE known.oid = 'resource_providers_roots_idx'::regclass
    ) AS roots

), few AS MATERIALIZED (
    -- PostgreSQL estimates few elements of an array. So the sort of the sums for these seems no cheaper than the hash for a scan.
    SELECT few.key >> 32 AS group_id, few.key & 4294967295 AS provider_id
    FROM unnest(ARRAY(
        SELECT (member.group_id << 32) + member.provider_id FROM member WHERE NOT (SELECT estimate.is_large FROM estimate)
    )) AS few (key)

), reached AS (
    -- No provider has a root_id that is not of a root: of other members the range is empty.
    SELECT few.group_id, tree.id
    FROM few
    CROSS JOIN LATERAL (SELECT provider.id FROM resource_providers AS provider WHERE provider.root_id = few.provider_id OFFSET 0) AS tree
    UNION
    SELECT few.group_id, few.provider_id FROM few

), provider AS (
    SELECT reached.group_id, reached.id FROM reached
    UNION ALL
    SELECT CASE WHEN @by_tree::bool THEN page.group_id ELSE 0 END, tree.id
    FROM page
    CROSS JOIN LATERAL (SELECT provider.id FROM resource_providers AS provider WHERE provider.root_id = page.id OFFSET 0) AS tree

), counted AS (
    SELECT provider.group_id, provider.id
    FROM provider
    CROSS JOIN LATERAL (
        SELECT own.root_id, own.trait_ids, own.aggregate_ids FROM resource_providers AS own WHERE own.id = provider.id OFFSET 0
    ) AS own
    CROSS JOIN LATERAL (
        SELECT root.trait_ids, root.aggregate_ids FROM resource_providers AS root WHERE root.id = own.root_id OFFSET 0
    ) AS root
    WHERE array_overlaps_each(own.trait_ids || root.trait_ids, @required::text[])
      AND array_overlaps_each(own.aggregate_ids || root.aggregate_ids, @member_of::text[])
      AND NOT (own.trait_ids || root.trait_ids) && @forbidden::int[]
      AND NOT (own.aggregate_ids || root.aggregate_ids) && @not_member_of::int[]
      AND (sqlc.narg('in_tree')::uuid IS NULL OR own.root_id = (
            SELECT named.root_id FROM resource_providers AS named WHERE named.uuid = sqlc.narg('in_tree')::uuid))

), led_to AS MATERIALIZED (
    -- PostgreSQL estimates few elements of an array, and so compares by a hash. So for the next two.
    SELECT unnest(ARRAY(
        SELECT member.provider_id FROM member WHERE @lead::text <> 'aggregates' AND (SELECT estimate.is_large FROM estimate)
    )) AS id

), excluded AS MATERIALIZED (
    SELECT unnest(ARRAY(
        SELECT member.provider_id
        FROM unnest(@forbidden::int[]) AS requested (id)
        CROSS JOIN LATERAL (
            SELECT member.provider_id FROM provider_traits AS member WHERE member.trait_id = requested.id OFFSET 0
        ) AS member
        WHERE (SELECT estimate.is_large FROM estimate)
        UNION ALL
        SELECT member.provider_id
        FROM unnest(@not_member_of::int[]) AS requested (id)
        CROSS JOIN LATERAL (
            SELECT member.provider_id FROM provider_aggregates AS member WHERE member.aggregate_id = requested.id OFFSET 0
        ) AS member
        WHERE (SELECT estimate.is_large FROM estimate)
    )) AS id

), selected AS MATERIALIZED (
    -- Nothing but the scan for further sets reads it.
    SELECT unnest(ARRAY(
        SELECT own.id
        FROM resource_providers AS own
        JOIN resource_providers AS root ON root.id = own.root_id
        WHERE (cardinality(@required::text[]) = 0 OR array_overlaps_each(own.trait_ids || root.trait_ids, @required::text[]))
          AND (cardinality(@member_of::text[]) = 0 OR array_overlaps_each(own.aggregate_ids || root.aggregate_ids, @member_of::text[]))
    )) AS id

), grouped AS MATERIALIZED (
    SELECT member.group_id, tree.id AS provider_id
    FROM member
    JOIN resource_providers AS tree ON tree.root_id = member.provider_id
    WHERE @lead::text = 'aggregates' AND (SELECT estimate.is_large FROM estimate)
    UNION
    SELECT member.group_id, member.provider_id FROM member
    WHERE @lead::text = 'aggregates' AND (SELECT estimate.is_large FROM estimate)

), scanned AS NOT MATERIALIZED (
    SELECT
        one.provider_id, one.class_id, one.total, one.reserved, one.min_unit, one.max_unit, one.step_size,
        one.allocation_ratio, one.used, one.free
    FROM inventories AS one
    WHERE (SELECT estimate.is_large FROM estimate)
      AND (cardinality(@class_ids::int[]) = 0 OR one.class_id = ANY (@class_ids::int[]))
      AND (@lead::text IN ('', 'aggregates')
        OR one.provider_id IN (SELECT led_to.id FROM led_to) OR one.root_id IN (SELECT led_to.id FROM led_to))
      AND one.provider_id NOT IN (SELECT excluded.id FROM excluded) AND one.root_id NOT IN (SELECT excluded.id FROM excluded)
      AND (cardinality(@required::text[]) + cardinality(@member_of::text[]) <= CASE WHEN @lead::text = 'aggregates' THEN 0 ELSE 1 END
        OR one.provider_id IN (SELECT selected.id FROM selected))

), inventory AS (
    SELECT
        counted.group_id, one.provider_id, one.class_id, one.total, one.reserved, one.min_unit, one.max_unit, one.step_size,
        one.allocation_ratio, one.used, one.free
    FROM counted
    CROSS JOIN LATERAL (
        SELECT
            one.provider_id, one.class_id, one.total, one.reserved, one.min_unit, one.max_unit, one.step_size,
            one.allocation_ratio, one.used, one.free
        FROM inventories AS one WHERE one.provider_id = counted.id OFFSET 0
    ) AS one
    WHERE cardinality(@class_ids::int[]) = 0 OR one.class_id = ANY (@class_ids::int[])
    UNION ALL
    SELECT
        0::bigint, scanned.provider_id, scanned.class_id, scanned.total, scanned.reserved, scanned.min_unit, scanned.max_unit,
        scanned.step_size, scanned.allocation_ratio, scanned.used, scanned.free
    FROM scanned
    WHERE @lead::text <> 'aggregates'
    UNION ALL
    SELECT
        grouped.group_id, scanned.provider_id, scanned.class_id, scanned.total, scanned.reserved, scanned.min_unit, scanned.max_unit,
        scanned.step_size, scanned.allocation_ratio, scanned.used, scanned.free
    FROM grouped
    JOIN scanned ON scanned.provider_id = grouped.provider_id
    WHERE @lead::text = 'aggregates'

), unit AS MATERIALIZED (
    SELECT requested.class_id, (@unit_amounts::bigint[])[requested.position] AS amount
    FROM unnest(@unit_classes::int[]) WITH ORDINALITY AS requested (class_id, position)

), measured AS (
    -- One key: PostgreSQL would estimate too many combinations of several for a hash, and sort. A group is at most 1,000; its
    -- class has 32 bits and the size 8. OFFSET 0 computes each column once.
    SELECT
        (inventory.group_id << 40) + (inventory.class_id::bigint << 8) + width_bucket(
            trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio) - inventory.used,
            -- Powers of two are exact, where a logarithm rounds: 0 for nothing free, 1 for 1, 2 for 2 and 3, …
            ARRAY(SELECT power(2::float8, exponent) FROM generate_series(0, 160) AS exponent)
        ) AS key,
        inventory.total,
        inventory.reserved,
        inventory.used::float8 AS used,
        trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio) AS capacity,
        trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio) - inventory.used AS free,
        -- The largest free amount and its oldest provider in one number. Ids of providers are below 2^32, as in the keys of
        -- allocation_change.
        (GREATEST(inventory.free, 0) << 32) + (4294967295 - inventory.provider_id) AS largest,
        inventory.min_unit,
        unit.amount AS unit,
        unit.amount BETWEEN inventory.min_unit AND inventory.max_unit AND unit.amount % inventory.step_size = 0 AS allows_unit
    FROM inventory
    LEFT JOIN unit ON unit.class_id = inventory.class_id
    OFFSET 0

), by_size AS (
    SELECT
        measured.key >> 40 AS group_id,
        ((measured.key >> 8) & 4294967295)::int AS class_id,
        (measured.key & 255)::int AS size,
        count(*) AS providers,
        sum(measured.total) AS total,
        sum(measured.reserved) AS reserved,
        sum(measured.capacity) AS capacity,
        sum(measured.used) AS used,
        sum(GREATEST(measured.free, 0)) AS free,
        sum(GREATEST(0 - measured.free, 0)) AS over_capacity, -- 0 - free: -free of 0 is -0
        max(measured.largest) AS largest,
        count(*) FILTER (WHERE measured.free < measured.min_unit) AS full_providers,
        max(measured.unit) AS unit,
        sum(CASE WHEN measured.allows_unit THEN floor(GREATEST(measured.free, 0) / measured.unit) ELSE 0 END) AS units
    FROM measured
    GROUP BY measured.key

), summed AS (
    SELECT
        by_size.group_id,
        by_size.class_id,
        sum(by_size.providers) AS providers,
        sum(by_size.total) AS total,
        sum(by_size.reserved) AS reserved,
        sum(by_size.capacity ORDER BY by_size.size) AS capacity,
        sum(by_size.used ORDER BY by_size.size) AS used,
        sum(by_size.free ORDER BY by_size.size) AS free,
        sum(by_size.over_capacity) AS over_capacity,
        max(by_size.largest) >> 32 AS largest,
        4294967295 - (max(by_size.largest) & 4294967295) AS largest_id,
        sum(by_size.full_providers) AS full_providers,
        array_agg(by_size.size ORDER BY by_size.size) FILTER (WHERE by_size.size > 0) AS sizes,
        array_agg(by_size.providers ORDER BY by_size.size) FILTER (WHERE by_size.size > 0) AS size_providers,
        array_agg(by_size.free ORDER BY by_size.size) FILTER (WHERE by_size.size > 0) AS size_free,
        max(by_size.unit) AS unit,
        sum(by_size.units ORDER BY by_size.size) AS units
    FROM by_size
    GROUP BY by_size.group_id, by_size.class_id
)
SELECT
    now()::timestamptz AS as_of,
    ARRAY(
        SELECT last.id FROM (SELECT max(page.id) AS id FROM page) AS last
        WHERE @lead::text = 'trees' AND EXISTS (SELECT FROM resource_providers AS later WHERE later.parent_id IS NULL AND later.id > last.id)
    )::bigint[] AS last_root_id, -- no element or one
    NULL::bigint AS group_id,
    NULL::int AS class_id,
    NULL::uuid AS root_uuid,
    NULL::text AS root_name,
    NULL::text AS class,
    NULL::bigint AS providers,
    NULL::bigint AS total,
    NULL::bigint AS reserved,
    NULL::float8 AS capacity,
    NULL::float8 AS used,
    NULL::float8 AS free,
    NULL::float8 AS over_capacity,
    NULL::bigint AS largest,
    NULL::uuid AS largest_uuid,
    NULL::text AS largest_name,
    NULL::bigint AS full_providers,
    NULL::int[] AS sizes,
    NULL::bigint[] AS size_providers,
    NULL::float8[] AS size_free,
    NULL::bigint AS unit,
    NULL::float8 AS units
UNION ALL
SELECT
    now(), '{}', summed.group_id, summed.class_id, root.uuid, root.name, class.name,
    summed.providers::bigint, summed.total::bigint, summed.reserved::bigint, summed.capacity, summed.used, summed.free,
    summed.over_capacity, summed.largest, at.uuid, at.name, summed.full_providers::bigint,
    summed.sizes, summed.size_providers, summed.size_free, summed.unit, summed.units
FROM summed
CROSS JOIN LATERAL (SELECT class.name FROM resource_classes AS class WHERE class.id = summed.class_id OFFSET 0) AS class
LEFT JOIN page ON page.group_id = summed.group_id
LEFT JOIN LATERAL (SELECT provider.uuid, provider.name FROM resource_providers AS provider WHERE provider.id = page.id OFFSET 0) AS root ON true
LEFT JOIN LATERAL (
    SELECT provider.uuid, provider.name FROM resource_providers AS provider
    WHERE provider.id = summed.largest_id AND summed.largest > 0 OFFSET 0
) AS at ON true
ORDER BY group_id NULLS FIRST, class_id;
