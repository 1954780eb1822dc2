-- Returns the candidates of a claim that do not fit at present, each with the first allocation that does not: its rule
-- (PL010, PL011 or PL012, see allocation_raise_error; 40001 if the provider or class does not exist any more), the
-- provider and the class.
--
-- Called by claim_create. p_ends: the position in the other arrays at which the allocations of each candidate end.
-- p_released_…: allocations that count as free capacity. Locks nothing: it is one statement, so its result is that of one
-- moment.
-- Plan: inventories_pkey for each allocation. OFFSET 0 keeps the lookup out of a join, see consumer_lock.
CREATE OR REPLACE FUNCTION claim_unfit(
    p_ends int[], p_providers bigint[], p_classes int[], p_amounts bigint[],
    p_released_providers bigint[], p_released_classes int[], p_released_amounts bigint[]
) RETURNS TABLE (unfit_candidate int, unfit_rule text, unfit_provider uuid, unfit_class text)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT /* claim_unfit 1/1 */ named.candidate::int,
        CASE WHEN named.provider IS NULL OR named.class IS NULL THEN '40001' ELSE named.rule END,
        named.provider, named.class
    FROM (
        SELECT DISTINCT ON (checked.candidate) checked.candidate, checked.rule,
            (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = p_providers[checked.position])
                AS provider,
            (SELECT class.name FROM resource_classes AS class WHERE class.id = p_classes[checked.position]) AS class
        FROM (
            SELECT candidate.position AS candidate, item.position,
                CASE
                    WHEN inventory.free_capacity IS NULL THEN 'PL010'
                    WHEN p_amounts[item.position] < inventory.min_unit OR p_amounts[item.position] > inventory.max_unit
                        OR p_amounts[item.position] % inventory.step_size <> 0 THEN 'PL011'
                    -- Amounts can be as large as bigint; on this side of the comparison nothing overflows.
                    WHEN p_amounts[item.position] > released.amount
                        AND p_amounts[item.position] - released.amount > inventory.free_capacity THEN 'PL012'
                END AS rule
            FROM unnest(p_ends) WITH ORDINALITY AS candidate (last, position)
            CROSS JOIN LATERAL generate_series(coalesce(p_ends[candidate.position - 1], 0) + 1, candidate.last)
                AS item (position)
            CROSS JOIN LATERAL (
                SELECT coalesce(sum(had.amount), 0)::bigint AS amount
                FROM unnest(p_released_providers, p_released_classes, p_released_amounts)
                    AS had (provider_id, class_id, amount)
                WHERE had.provider_id = p_providers[item.position] AND had.class_id = p_classes[item.position]
            ) AS released
            LEFT JOIN LATERAL (
                SELECT stock.min_unit, stock.max_unit, stock.step_size,
                    (stock.total - stock.reserved) * stock.allocation_ratio - stock.used AS free_capacity
                FROM inventories AS stock
                WHERE stock.provider_id = p_providers[item.position] AND stock.class_id = p_classes[item.position]
                OFFSET 0
            ) AS inventory ON true
        ) AS checked
        WHERE checked.rule IS NOT NULL
        ORDER BY checked.candidate, checked.position
    ) AS named
    ORDER BY named.candidate;
END
$$;
