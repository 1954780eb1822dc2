-- Returns when inventories have enough free: for each key the first time at which the consumers that end by then, at their
-- until, hold at least needs[key] on its providers. A key without such a time has no row. A key is a number from 1 on, with one
-- class on one or several providers.
-- Called by Explainer.Explain for the trees that lack nothing but free capacity. Locks nothing.
-- Plan: a range of allocations_provider_id_idx for each inventory, leases_pkey for each row.
-- name: ExplainEnds :many
WITH held AS (
    SELECT asked.key, ended.until, allocation.used
    FROM unnest(@keys::int[]) WITH ORDINALITY AS asked (key, position)
    CROSS JOIN LATERAL (
        SELECT one.consumer_id, one.used FROM allocations AS one
        WHERE one.provider_id = (@providers::bigint[])[asked.position] AND one.class_id = (@classes::int[])[asked.position] OFFSET 0
    ) AS allocation
    CROSS JOIN LATERAL (
        SELECT lease.until FROM leases AS lease WHERE lease.consumer_id = allocation.consumer_id AND lease.until IS NOT NULL OFFSET 0
    ) AS ended

), summed AS (
    SELECT held.key, held.until, sum(held.used) OVER (PARTITION BY held.key ORDER BY held.until) AS freed FROM held
)
SELECT summed.key::int AS key, min(summed.until)::timestamptz AS until FROM summed
WHERE summed.freed >= (@needs::bigint[])[summed.key]
GROUP BY summed.key;

-- Returns the allocations on some providers, of some classes, whose consumers end at an until: at most max_rows, those that end first.
-- Called by Explainer.Explain for the trees of which it asks when the query fits. Locks nothing.
-- Plan: ranges of allocations_provider_id_idx, leases_pkey and consumers_pkey for each row; a sort.
-- name: ExplainEndingAllocations :many
SELECT allocation.provider_id, allocation.class_id, allocation.used, consumer.uuid AS consumer, ended.until::timestamptz AS until
FROM unnest(@providers::bigint[]) AS asked (provider_id)
CROSS JOIN LATERAL (
    SELECT one.provider_id, one.class_id, one.consumer_id, one.used FROM allocations AS one
    WHERE one.provider_id = asked.provider_id AND one.class_id = ANY(@classes::int[]) OFFSET 0
) AS allocation
CROSS JOIN LATERAL (
    SELECT lease.until FROM leases AS lease WHERE lease.consumer_id = allocation.consumer_id AND lease.until IS NOT NULL OFFSET 0
) AS ended
CROSS JOIN LATERAL (SELECT one.uuid FROM consumers AS one WHERE one.id = allocation.consumer_id OFFSET 0) AS consumer
ORDER BY ended.until, allocation.consumer_id, allocation.provider_id, allocation.class_id
LIMIT @max_rows::int;
