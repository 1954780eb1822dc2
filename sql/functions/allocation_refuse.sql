-- Says which allocation of a request does not fit, the first in request order.
--
-- p_full_providers and p_full_classes are the inventories where something does
-- not fit; their used is what it was before the request. p_gone_… are what the
-- request's consumers had, with negative amounts. The other arrays are the request's.
--
-- An allocation fits if the provider has inventory of the class (else PL010), the
-- amount agrees with min_unit, max_unit and step_size (else PL011), and all
-- amounts up to it agree with the capacity (else PL012), where what the consumers
-- had counts as free. A provider that holds more than its capacity already may
-- keep as much as it has, or less.
-- Raises 40001 for a provider or class that was deleted since its name was looked
-- up: the request is to begin again, and the look-up then says which it was.
CREATE OR REPLACE FUNCTION allocation_refuse(
    p_full_providers bigint[], p_full_classes int[],
    p_providers bigint[], p_classes int[], p_amounts bigint[],
    p_gone_providers bigint[], p_gone_classes int[], p_gone_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_wrong record;
BEGIN
    WITH wanted AS (
        SELECT item.place, item.provider_id, item.class_id, item.amount,
            sum(item.amount) OVER (PARTITION BY item.provider_id, item.class_id ORDER BY item.place) AS so_far
        FROM unnest(p_providers, p_classes, p_amounts) WITH ORDINALITY AS item (provider_id, class_id, amount, place)
    ), freed AS (
        SELECT gone.provider_id, gone.class_id, -sum(gone.amount) AS used
        FROM unnest(p_gone_providers, p_gone_classes, p_gone_amounts) AS gone (provider_id, class_id, amount)
        GROUP BY gone.provider_id, gone.class_id
    ), judged AS (
        SELECT wanted.place, wanted.provider_id, wanted.class_id,
            CASE
                WHEN inventory.provider_id IS NULL THEN 'PL010'
                WHEN wanted.amount < inventory.min_unit OR wanted.amount > inventory.max_unit
                    OR wanted.amount % inventory.step_size <> 0 THEN 'PL011'
                WHEN wanted.so_far > coalesce(freed.used, 0)
                    AND inventory.used - coalesce(freed.used, 0) + wanted.so_far
                        > (inventory.total - inventory.reserved) * inventory.allocation_ratio THEN 'PL012'
            END AS rule
        FROM unnest(p_full_providers, p_full_classes) AS full_up (provider_id, class_id)
        JOIN wanted USING (provider_id, class_id)
        LEFT JOIN inventories AS inventory USING (provider_id, class_id)
        LEFT JOIN freed USING (provider_id, class_id)
    )
    SELECT judged.rule, provider.uuid AS provider, class.name AS class INTO v_wrong
    FROM judged
    LEFT JOIN resource_providers AS provider ON provider.id = judged.provider_id
    LEFT JOIN resource_classes AS class ON class.id = judged.class_id
    WHERE judged.rule IS NOT NULL
    ORDER BY judged.place
    LIMIT 1;
    RAISE EXCEPTION 'allocation of % on provider % does not fit', v_wrong.class, v_wrong.provider
        USING ERRCODE = CASE WHEN v_wrong.provider IS NULL OR v_wrong.class IS NULL THEN '40001' ELSE v_wrong.rule END,
        DETAIL = json_build_object('provider', v_wrong.provider, 'class', v_wrong.class);
END
$$;
