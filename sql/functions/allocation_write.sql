-- Replaces all allocations of some consumers and moves inventories.used with
-- them. Checks nothing: allocation_check did.
--
-- p_owners: for each allocation the place (from 1) of its consumer in
-- p_consumers. The caller holds consumers and providers.
CREATE OR REPLACE FUNCTION allocation_write(
    p_consumers bigint[], p_owners int[], p_providers bigint[], p_classes int[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    WITH moved AS (
        SELECT item.provider_id, item.class_id, item.amount
        FROM unnest(p_providers, p_classes, p_amounts) AS item (provider_id, class_id, amount)
        UNION ALL
        SELECT taken.provider_id, taken.class_id, -taken.used
        FROM allocations AS taken WHERE taken.consumer_id = ANY (p_consumers)
    ), net AS (
        SELECT moved.provider_id, moved.class_id, sum(moved.amount)::bigint AS amount
        FROM moved GROUP BY moved.provider_id, moved.class_id
        HAVING sum(moved.amount) <> 0
    )
    UPDATE inventories AS inventory SET used = inventory.used + net.amount
    FROM net WHERE inventory.provider_id = net.provider_id AND inventory.class_id = net.class_id;

    DELETE FROM allocations WHERE consumer_id = ANY (p_consumers);
    INSERT INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT p_consumers[item.owner], item.provider_id, item.class_id, item.amount
    FROM unnest(p_owners, p_providers, p_classes, p_amounts) WITH ORDINALITY
        AS item (owner, provider_id, class_id, amount, place)
    ORDER BY item.place;
END
$$;
