-- Returns the allocations of a consumer that a merge patch changes: those with another amount first, in the order of
-- the request, then the removed ones with the amount 0. previous is the amount before, 0 for a new allocation.
--
-- Arguments as in allocation_patch. An amount that does not change is left out.
-- Raises PL009 and PL004 (see allocation_resolve) for allocations that are set. Names that do not exist are ignored
-- for those that are removed. Locks nothing; the caller has locked the consumer, whose allocations cannot change.
-- Calls: allocation_resolve.
CREATE OR REPLACE FUNCTION allocation_patch_changes(
    p_consumer_id bigint, p_providers uuid[], p_classes text[], p_amounts bigint[],
    OUT providers bigint[], OUT classes int[], OUT amounts bigint[], OUT previous bigint[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_uuids uuid[];
    v_names text[];
    v_wanted bigint[];
    v_named record;
BEGIN
    SELECT /* allocation_patch_changes 1/2 */ coalesce(array_agg(item.provider ORDER BY item.position), '{}'),
        coalesce(array_agg(item.class ORDER BY item.position), '{}'),
        coalesce(array_agg(item.amount ORDER BY item.position), '{}')
    INTO v_uuids, v_names, v_wanted
    FROM unnest(p_providers, p_classes, p_amounts) WITH ORDINALITY AS item (provider, class, amount, position)
    WHERE item.amount > 0;
    v_named := allocation_resolve(v_uuids, v_names);
    SELECT /* allocation_patch_changes 2/2 */ coalesce(array_agg(change.provider_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.class_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.amount ORDER BY change.position), '{}'),
        coalesce(array_agg(change.previous ORDER BY change.position), '{}')
    INTO providers, classes, amounts, previous
    FROM (
        SELECT wanted.position, wanted.provider_id, wanted.class_id, wanted.amount, coalesce(had.used, 0) AS previous
        FROM unnest(v_named.providers, v_named.classes, v_wanted) WITH ORDINALITY
            AS wanted (provider_id, class_id, amount, position)
        LEFT JOIN allocations AS had ON had.consumer_id = p_consumer_id AND had.provider_id = wanted.provider_id
            AND had.class_id = wanted.class_id
        WHERE had.used IS DISTINCT FROM wanted.amount
        UNION ALL
        SELECT 2147483648 + had.id, had.provider_id, had.class_id, 0, had.used
        FROM allocations AS had
        WHERE had.consumer_id = p_consumer_id AND EXISTS (
            SELECT FROM unnest(p_providers, p_classes, p_amounts) AS removed (provider, class, amount)
            WHERE removed.amount = 0
              AND removed.provider = (SELECT provider.uuid FROM resource_providers AS provider
                WHERE provider.id = had.provider_id)
              AND removed.class IN ('', (SELECT class.name FROM resource_classes AS class WHERE class.id = had.class_id)))
    ) AS change;
END
$$;
