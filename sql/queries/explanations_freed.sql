-- Returns the consumers with the largest allocations of some inventories, each (provider, class) with at most max_rows of them:
-- which of them must go so that a query fits.
-- Called by Explainer.Explain for the trees that it shows. Locks nothing.
-- Plan: a range of allocations_provider_id_idx for each inventory, sorted; consumers_pkey for each row.
-- name: ExplainHolders :many
SELECT held.provider_id, held.class_id, held.used, consumer.uuid AS consumer
FROM unnest(@providers::bigint[]) WITH ORDINALITY AS asked (provider_id, position)
CROSS JOIN LATERAL (
    SELECT allocation.provider_id, allocation.class_id, allocation.consumer_id, allocation.used
    FROM allocations AS allocation
    WHERE allocation.provider_id = asked.provider_id AND allocation.class_id = (@classes::int[])[asked.position]
    ORDER BY allocation.used DESC, allocation.consumer_id
    LIMIT @max_rows::int
) AS held
CROSS JOIN LATERAL (SELECT one.uuid FROM consumers AS one WHERE one.id = held.consumer_id OFFSET 0) AS consumer;
