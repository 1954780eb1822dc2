-- Returns the allocations that change when consumers get new sets of allocations: those with another amount first, in the
-- order of the request, then the dropped ones with the amount 0. previous is the amount before, 0 for a new allocation.
--
-- p_consumers: ids; p_owners: the position (from 1) of the consumer of each allocation; the other arrays are what
-- allocation_resolve returned. Locks nothing; the caller has locked the consumers, whose allocations cannot change.
-- Plan: keys, and the range of each consumer in allocations_pkey.
CREATE OR REPLACE FUNCTION allocation_differences(
    p_consumers bigint[], p_owners int[], p_providers bigint[], p_classes int[], p_amounts bigint[],
    OUT consumers bigint[], OUT providers bigint[], OUT classes int[], OUT amounts bigint[], OUT previous bigint[]
)
LANGUAGE plpgsql AS $$
BEGIN
    WITH /* allocation_differences 1/1 */ wanted AS MATERIALIZED (
        SELECT item.position, p_consumers[item.owner] AS consumer_id, item.provider_id, item.class_id, item.amount
        FROM unnest(p_owners, p_providers, p_classes, p_amounts) WITH ORDINALITY
            AS item (owner, provider_id, class_id, amount, position)
    ), had AS MATERIALIZED (
        SELECT allocation.id, allocation.consumer_id, allocation.provider_id, allocation.class_id, allocation.used
        FROM unnest(p_consumers) AS consumer (id)
        CROSS JOIN LATERAL (
            SELECT one.id, one.consumer_id, one.provider_id, one.class_id, one.used
            FROM allocations AS one WHERE one.consumer_id = consumer.id OFFSET 0
        ) AS allocation
    )
    SELECT coalesce(array_agg(change.consumer_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.provider_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.class_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.amount ORDER BY change.position), '{}'),
        coalesce(array_agg(change.previous ORDER BY change.position), '{}')
    INTO consumers, providers, classes, amounts, previous
    FROM (
        SELECT coalesce(wanted.position, 2147483648 + had.id) AS position, consumer_id, provider_id, class_id,
            coalesce(wanted.amount, 0) AS amount, coalesce(had.used, 0) AS previous
        FROM wanted FULL JOIN had USING (consumer_id, provider_id, class_id)
        WHERE wanted.amount IS DISTINCT FROM had.used
    ) AS change;
END
$$;
