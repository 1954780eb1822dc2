-- Raises the error for the first allocation, in the order of the request, that does not fit.
--
-- p_over_capacity_providers and p_over_capacity_classes are the inventories whose update failed; their used
-- is the value before the request. p_deleted_… are the previous allocations of the request's consumers,
-- with negative amounts. The other arrays are those of the request.
--
-- An allocation fits if the provider has an inventory of the class (otherwise PL010), the amount conforms
-- to min_unit, max_unit and step_size (otherwise PL011), and the sum of all amounts up to it is within the
-- capacity (otherwise PL012). Previous allocations of the consumers count as free. On a provider that is
-- over capacity already, the consumers may keep as much as they have, or less.
-- Raises 40001 if a provider or class was deleted since its name was resolved: the store retries the
-- request, and resolving the name again finds which one is missing.
CREATE OR REPLACE FUNCTION allocation_raise_error(
    p_over_capacity_providers bigint[], p_over_capacity_classes int[],
    p_providers bigint[], p_classes int[], p_amounts bigint[],
    p_deleted_providers bigint[], p_deleted_classes int[], p_deleted_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_wrong record;
BEGIN
    WITH /* allocation_raise_error 1/1 */ requested AS (
        SELECT item.position, item.provider_id, item.class_id, item.amount,
            sum(item.amount) OVER (PARTITION BY item.provider_id, item.class_id ORDER BY item.position) AS so_far
        FROM unnest(p_providers, p_classes, p_amounts) WITH ORDINALITY AS item (provider_id, class_id, amount, position)
    ), released AS (
        SELECT deleted.provider_id, deleted.class_id, -sum(deleted.amount) AS used
        FROM unnest(p_deleted_providers, p_deleted_classes, p_deleted_amounts)
            AS deleted (provider_id, class_id, amount)
        GROUP BY deleted.provider_id, deleted.class_id
    ), checked AS (
        SELECT requested.position, requested.provider_id, requested.class_id,
            CASE
                WHEN inventory.provider_id IS NULL THEN 'PL010'
                WHEN requested.amount < inventory.min_unit OR requested.amount > inventory.max_unit
                    OR requested.amount % inventory.step_size <> 0 THEN 'PL011'
                WHEN requested.so_far > coalesce(released.used, 0)
                    AND inventory.used - coalesce(released.used, 0) + requested.so_far
                        > (inventory.total - inventory.reserved) * inventory.allocation_ratio THEN 'PL012'
            END AS rule
        FROM unnest(p_over_capacity_providers, p_over_capacity_classes) AS over_capacity (provider_id, class_id)
        JOIN requested USING (provider_id, class_id)
        LEFT JOIN inventories AS inventory USING (provider_id, class_id)
        LEFT JOIN released USING (provider_id, class_id)
    )
    SELECT checked.rule, provider.uuid AS provider, class.name AS class INTO v_wrong
    FROM checked
    LEFT JOIN resource_providers AS provider ON provider.id = checked.provider_id
    LEFT JOIN resource_classes AS class ON class.id = checked.class_id
    WHERE checked.rule IS NOT NULL
    ORDER BY checked.position
    LIMIT 1;
    RAISE EXCEPTION 'allocation of % on provider % does not fit', v_wrong.class, v_wrong.provider
        USING ERRCODE = CASE WHEN v_wrong.provider IS NULL OR v_wrong.class IS NULL THEN '40001' ELSE v_wrong.rule END,
        DETAIL = json_build_object('provider', v_wrong.provider, 'class', v_wrong.class);
END
$$;
