-- Returns a page of providers that pass the filters, or all of them, with the parts that the request includes. The
-- first columns are equal on all rows: the position after which the next page begins, the number of providers of this
-- page, and the time of the newest. A page without providers is one row whose number is 0.
-- Called by Store.ProviderPage, which streams the rows. Locks nothing.
--
-- The page is a range of a unique index: the ids between id_after and id_before, the names from name_low up to name_high
-- (not included), and in a search then the UUIDs from uuid_low to uuid_high. sort is created_at, -created_at or name; a
-- search is in the order of names, and prefix is its text. leading_filter is range, or the filter whose index finds
-- fewer providers: each branch has a constant condition, so that only one of them runs. It examines at most max_examined
-- providers, and ends after max_items. counts_only leaves out the providers: then max_keyed is the maximum number of
-- entries to read of the index of a leading filter, in any order.
-- Plan: the range of resource_providers_pkey, resource_providers_name_key or resource_providers_uuid_key in its order;
-- for a leading filter its index, as in ProviderList. Then primary keys of each provider, and for each part one scan of
-- inventories_pkey, provider_traits_pkey or provider_aggregates_pkey. Cost follows max_examined and the rows. Never a
-- sequential scan.
-- name: ProviderPage :many
WITH keyed AS MATERIALIZED (
    (SELECT provider.id FROM resource_providers AS provider
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
    SELECT member.provider_id
    FROM jsonb_array_elements_text(@member_of::jsonb -> 0) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT member.provider_id FROM provider_aggregates AS member WHERE member.aggregate_id = requested.id::int OFFSET 0
    ) AS member
    WHERE @leading_filter::text = 'member_of'
    UNION ALL
    SELECT provider_trait.provider_id
    FROM jsonb_array_elements_text(@required::jsonb -> 0) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT provider_trait.provider_id FROM provider_traits AS provider_trait WHERE provider_trait.trait_id = requested.id::int OFFSET 0
    ) AS provider_trait
    WHERE @leading_filter::text = 'required')
    LIMIT @max_keyed::bigint
), named AS MATERIALIZED (  -- the range of names
    SELECT provider.id, row_number() OVER (ORDER BY provider.name) AS place
    FROM resource_providers AS provider
    WHERE @leading_filter::text = 'range' AND @sort::text = 'name'
      AND provider.name >= @name_low::text AND provider.name < @name_high::text
    ORDER BY provider.name
    LIMIT sqlc.arg('max_examined')::bigint + 1
), ranged AS (  -- the providers to examine: part 0, or 1 for those that a search finds by their UUIDs; and their order
    (SELECT 0 AS part, provider.id AS place, provider.id
    FROM resource_providers AS provider
    WHERE @leading_filter::text = 'range' AND @sort::text = 'created_at'
      AND provider.id > @id_after::bigint AND provider.id < @id_before::bigint
    ORDER BY provider.id
    LIMIT sqlc.arg('max_examined')::bigint + 1)
    UNION ALL
    (SELECT 0 AS part, -provider.id AS place, provider.id
    FROM resource_providers AS provider
    WHERE @leading_filter::text = 'range' AND @sort::text = '-created_at'
      AND provider.id > @id_after::bigint AND provider.id < @id_before::bigint
    ORDER BY provider.id DESC
    LIMIT sqlc.arg('max_examined')::bigint + 1)
    UNION ALL
    SELECT 0 AS part, named.place, named.id FROM named
    UNION ALL
    (SELECT 1 AS part, row_number() OVER (ORDER BY provider.uuid) AS place, provider.id
    FROM resource_providers AS provider
    WHERE @leading_filter::text = 'range' AND @prefix::text <> ''
      AND provider.uuid BETWEEN @uuid_low::uuid AND @uuid_high::uuid
      AND (SELECT count(*) FROM named) <= @max_examined::bigint
    ORDER BY provider.uuid
    LIMIT sqlc.arg('max_examined')::bigint + 1)
    UNION ALL
    (SELECT
        found.part,
        CASE @sort::text
            WHEN 'created_at' THEN found.id
            WHEN '-created_at' THEN -found.id
            ELSE row_number() OVER (PARTITION BY found.part ORDER BY CASE found.part WHEN 0 THEN found.name END, found.uuid)
        END AS place,
        found.id
    FROM (SELECT DISTINCT one.id FROM keyed AS one) AS keyed
    CROSS JOIN LATERAL (
        SELECT
            provider.id, provider.uuid, provider.name,
            CASE WHEN provider.name >= @name_low::text AND provider.name < @name_high::text THEN 0 ELSE 1 END AS part
        FROM resource_providers AS provider
        WHERE provider.id = keyed.id AND provider.id > @id_after::bigint AND provider.id < @id_before::bigint
        OFFSET 0
    ) AS found
    WHERE found.part = 0 OR (@prefix::text <> '' AND found.uuid BETWEEN @uuid_low::uuid AND @uuid_high::uuid)
    ORDER BY 1, 2
    LIMIT sqlc.arg('max_examined')::bigint + 1)
), examined AS MATERIALIZED (
    SELECT ranged.id, ranged.part, row_number() OVER (ORDER BY ranged.part, ranged.place) AS number
    FROM ranged
    ORDER BY ranged.part, ranged.place
    LIMIT sqlc.arg('max_examined')::bigint + 1
), matching AS MATERIALIZED (  -- one more than the page, which shows whether there is another
    SELECT
        examined.part,
        provider.id,
        provider.uuid,
        provider.name,
        provider.root_id,
        provider.parent_id,
        generation_row.generation,
        GREATEST(generation_row.updated_at, provider.created_at) AS modified_at,
        row_number() OVER (ORDER BY examined.number) AS number
    -- Sorted before the joins, which keep the order: so the filters are checked until the page is full, not for all.
    FROM (SELECT sorted.id, sorted.part, sorted.number FROM examined AS sorted ORDER BY sorted.number) AS examined
    -- OFFSET 0 forces index lookups: the planner estimates examined to have the rows of all branches together.
    CROSS JOIN LATERAL (
        SELECT listed.id, listed.uuid, listed.name, listed.root_id, listed.parent_id, listed.created_at
        FROM resource_providers AS listed WHERE listed.id = examined.id OFFSET 0
    ) AS provider
    CROSS JOIN LATERAL (
        SELECT generation.generation, generation.updated_at FROM provider_generations AS generation WHERE generation.provider_id = examined.id OFFSET 0
    ) AS generation_row
    WHERE examined.number <= @max_examined::bigint
      -- A provider that a search finds by its name and its UUID is listed by its name.
      AND (examined.part = 0 OR NOT starts_with(provider.name, @prefix::text))
      AND (sqlc.narg('uuid')::uuid IS NULL OR provider.uuid = sqlc.narg('uuid')::uuid)
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
      AND (cardinality(@not_member_of::int[]) = 0 OR NOT EXISTS (
            SELECT FROM provider_aggregates AS member
            WHERE member.provider_id = provider.id AND member.aggregate_id = ANY (@not_member_of::int[])))
      AND (cardinality(@forbidden::int[]) = 0 OR NOT EXISTS (
            SELECT FROM provider_traits AS provider_trait
            WHERE provider_trait.provider_id = provider.id AND provider_trait.trait_id = ANY (@forbidden::int[])))
    ORDER BY examined.number
    LIMIT sqlc.arg('max_items')::bigint + 1
), page_end AS (  -- the last provider of the page, or else the last examined one, if there are more
    SELECT ended.id, ended.part
    FROM (
        SELECT matching.id, matching.part, 1 AS preference FROM matching
        WHERE matching.number = @max_items::bigint AND (SELECT count(*) FROM matching) > @max_items::bigint
        UNION ALL
        SELECT examined.id, examined.part, 2 AS preference FROM examined
        WHERE examined.number = @max_examined::bigint AND (SELECT count(*) FROM examined) > @max_examined::bigint
        UNION ALL
        SELECT 0 AS id, 0 AS part, 3 AS preference WHERE (SELECT count(*) FROM keyed) = @max_keyed::bigint
    ) AS ended
    ORDER BY ended.preference
    LIMIT 1
), page AS (
    SELECT
        COALESCE((SELECT page_end.part FROM page_end), -1) AS end_part,
        COALESCE((SELECT page_end.id FROM page_end), 0) AS end_id,
        (SELECT count(*) FROM matching) AS matched,
        (SELECT max(matching.modified_at) FROM matching WHERE matching.number <= @max_items::bigint) AS newest
)
SELECT
    page.end_part::int AS end_part,
    page.end_id::bigint AS end_id,
    -- no element or one
    ARRAY(SELECT ended.name FROM resource_providers AS ended WHERE ended.id = page.end_id)::text[] AS end_name,
    ARRAY(SELECT ended.uuid FROM resource_providers AS ended WHERE ended.id = page.end_id)::uuid[] AS end_uuid,
    page.matched::bigint AS matched,
    COALESCE(page.newest, now())::timestamptz AS newest,
    COALESCE(item.number, 0)::bigint AS number,
    COALESCE(item.uuid, '00000000-0000-0000-0000-000000000000')::uuid AS uuid,
    COALESCE(item.name, '')::text AS name,
    COALESCE(item.generation, 0)::bigint AS generation,
    ARRAY(SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = item.parent_id)::uuid[] AS parent_uuid,
    COALESCE(
        (SELECT root_provider.uuid FROM resource_providers AS root_provider WHERE root_provider.id = item.root_id),
        '00000000-0000-0000-0000-000000000000')::uuid AS root_uuid,
    COALESCE(inventory_part.classes, '{}')::text[] AS classes,
    COALESCE(inventory_part.numbers, '{}')::bigint[] AS numbers,
    COALESCE(inventory_part.ratios, '{}')::float8[] AS ratios,
    COALESCE(CASE WHEN @has_traits::bool THEN provider_trait_names(item.id) END, '{}')::text[] AS traits,
    COALESCE(CASE WHEN @has_aggregates::bool THEN provider_aggregate_uuids(item.id) END, '{}')::uuid[] AS aggregates
FROM page
LEFT JOIN matching AS item ON item.number <= @max_items::bigint AND NOT @counts_only::bool
-- Of each class its name, its ratio and six numbers: total, reserved, min_unit, max_unit, step_size, used.
LEFT JOIN LATERAL (
    SELECT
        array_agg(record.class) AS classes,
        array_agg(record.allocation_ratio) AS ratios,
        array_agg(record.numbers) AS numbers
    FROM (
        SELECT
            class.name AS class,
            inventory.allocation_ratio,
            ARRAY[inventory.total, inventory.reserved, inventory.min_unit, inventory.max_unit, inventory.step_size, inventory.used]::bigint[]
                AS numbers
        FROM inventories AS inventory
        CROSS JOIN LATERAL (SELECT known.name FROM resource_classes AS known WHERE known.id = inventory.class_id OFFSET 0) AS class
        WHERE @has_inventories::bool AND inventory.provider_id = item.id
        ORDER BY inventory.class_id
        OFFSET 0
    ) AS record
) AS inventory_part ON true
ORDER BY item.number;

-- Returns the number of providers, up to max_counted.
-- Called by Store.ProviderPage for the total of a list without filters. Locks nothing.
-- Plan: resource_providers_pkey, up to max_counted entries.
-- name: ProviderPageTotal :one
SELECT count(*)::bigint AS count FROM (
    SELECT FROM resource_providers AS provider ORDER BY provider.id LIMIT @max_counted::bigint
) AS counted;
