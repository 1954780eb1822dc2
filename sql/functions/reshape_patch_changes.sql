-- Returns the allocations that PATCH /reshaper changes: those with another amount first, in the order of the request, then
-- the removed ones with the amount 0. previous is the amount before, 0 for a new allocation.
--
-- p_consumers: ids, 0 for a consumer that does not exist; p_removed: all allocations of the consumer are removed; p_owners:
-- the position (from 1) of the consumer of each element of the other arrays, which are those of allocation_patch.
-- Raises PL009 and PL004 (see allocation_resolve) for allocations that are set. Names that do not exist are ignored for
-- those that are removed. Locks nothing; the caller has locked the consumers, whose allocations cannot change.
-- Calls: allocation_resolve.
CREATE OR REPLACE FUNCTION reshape_patch_changes(
    p_consumers bigint[], p_removed bool[], p_owners int[], p_providers uuid[], p_classes text[], p_amounts bigint[],
    OUT consumers bigint[], OUT providers bigint[], OUT classes int[], OUT amounts bigint[], OUT previous bigint[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_wanted record;
    v_named record;
BEGIN
    SELECT /* reshape_patch_changes 1/2 */ coalesce(array_agg(item.owner ORDER BY item.position), '{}') AS owners,
        coalesce(array_agg(item.provider ORDER BY item.position), '{}') AS providers,
        coalesce(array_agg(item.class ORDER BY item.position), '{}') AS classes,
        coalesce(array_agg(item.amount ORDER BY item.position), '{}') AS amounts
    INTO v_wanted
    FROM unnest(p_owners, p_providers, p_classes, p_amounts) WITH ORDINALITY
        AS item (owner, provider, class, amount, position)
    WHERE item.amount > 0;
    v_named := allocation_resolve(v_wanted.providers, v_wanted.classes);
    SELECT /* reshape_patch_changes 2/2 */ coalesce(array_agg(change.consumer_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.provider_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.class_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.amount ORDER BY change.position), '{}'),
        coalesce(array_agg(change.previous ORDER BY change.position), '{}')
    INTO consumers, providers, classes, amounts, previous
    FROM (
        SELECT wanted.position, p_consumers[wanted.owner] AS consumer_id, wanted.provider_id, wanted.class_id,
            wanted.amount, coalesce(had.used, 0) AS previous
        FROM unnest(v_wanted.owners, v_named.providers, v_named.classes, v_wanted.amounts) WITH ORDINALITY
            AS wanted (owner, provider_id, class_id, amount, position)
        LEFT JOIN LATERAL (
            SELECT allocation.used FROM allocations AS allocation
            WHERE allocation.consumer_id = p_consumers[wanted.owner] AND allocation.provider_id = wanted.provider_id
              AND allocation.class_id = wanted.class_id OFFSET 0
        ) AS had ON true
        WHERE had.used IS DISTINCT FROM wanted.amount
        UNION ALL
        SELECT 2147483648 + had.id, had.consumer_id, had.provider_id, had.class_id, 0, had.used
        FROM (
            SELECT p_consumers[item.owner] AS consumer_id, false AS is_all, item.class,
                (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = item.provider) AS provider_id
            FROM unnest(p_owners, p_providers, p_classes, p_amounts) AS item (owner, provider, class, amount)
            WHERE item.amount = 0
            UNION ALL
            SELECT p_consumers[item.position], true, '', NULL
            FROM unnest(p_removed) WITH ORDINALITY AS item (is_removed, position) WHERE item.is_removed
        ) AS removed
        CROSS JOIN LATERAL (
            SELECT allocation.id, allocation.consumer_id, allocation.provider_id, allocation.class_id, allocation.used
            FROM allocations AS allocation
            WHERE allocation.consumer_id = removed.consumer_id
              AND (removed.is_all OR allocation.provider_id = removed.provider_id
                AND (removed.class = '' OR allocation.class_id = (
                    SELECT class.id FROM resource_classes AS class WHERE class.name = removed.class)))
            OFFSET 0
        ) AS had
    ) AS change;
END
$$;
