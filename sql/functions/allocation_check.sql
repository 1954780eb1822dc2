-- Refuses allocations that do not fit.
--
-- The arrays have one element an allocation, in request order. Raises for the
-- first that is wrong: PL010 (the provider has no such inventory), PL011
-- (min_unit, max_unit or step_size), PL012 (capacity). What the request's
-- consumers use so far counts as free, and amounts of one provider and class add
-- up. A provider that holds more than its capacity already may keep as much as
-- it has, or less. The caller holds the providers.
CREATE OR REPLACE FUNCTION allocation_check(
    p_consumers bigint[], p_providers bigint[], p_classes int[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_wrong record;
BEGIN
    WITH wanted AS (
        SELECT item.place, item.provider_id, item.class_id, item.amount,
            sum(item.amount) OVER (PARTITION BY item.provider_id, item.class_id ORDER BY item.place) AS so_far
        FROM unnest(p_providers, p_classes, p_amounts) WITH ORDINALITY AS item (provider_id, class_id, amount, place)
    ), given_back AS (
        SELECT taken.provider_id, taken.class_id, sum(taken.used) AS used
        FROM allocations AS taken WHERE taken.consumer_id = ANY (p_consumers)
        GROUP BY taken.provider_id, taken.class_id
    ), judged AS (
        SELECT wanted.place, wanted.provider_id, wanted.class_id,
            CASE
                WHEN inventory.provider_id IS NULL THEN 'PL010'
                WHEN wanted.amount < inventory.min_unit OR wanted.amount > inventory.max_unit
                    OR wanted.amount % inventory.step_size <> 0 THEN 'PL011'
                WHEN after.used > (inventory.total - inventory.reserved) * inventory.allocation_ratio
                    AND (inventory.used = 0 OR after.used > inventory.used) THEN 'PL012'
            END AS rule
        FROM wanted
        LEFT JOIN inventories AS inventory USING (provider_id, class_id)
        LEFT JOIN given_back USING (provider_id, class_id)
        CROSS JOIN LATERAL (SELECT inventory.used - coalesce(given_back.used, 0) + wanted.so_far AS used) AS after
    )
    SELECT judged.rule, provider.uuid AS provider, class.name AS class INTO v_wrong
    FROM judged
    LEFT JOIN resource_providers AS provider ON provider.id = judged.provider_id
    JOIN resource_classes AS class ON class.id = judged.class_id
    WHERE judged.rule IS NOT NULL
    ORDER BY judged.place
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'allocation of % on provider % does not fit', v_wrong.class, v_wrong.provider
            USING ERRCODE = v_wrong.rule,
            DETAIL = json_build_object('provider', v_wrong.provider, 'class', v_wrong.class);
    END IF;
END
$$;
