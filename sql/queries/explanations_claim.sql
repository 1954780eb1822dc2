-- Returns the inventories that a claim names, in the order of its keys: the provider's name (empty: no
-- such provider), the inventory with what is used of it (all zero without one), what the consumers of the
-- claim hold there, and if is_counted how many consumers there are, up to 1,000.
-- Called by Explainer.Claim after the claim has ended: once, and for a claim with more than 100 keys once
-- more for the ones that it shows. Locks nothing.
-- Plan: consumers_uuid_key and a range of allocations_pkey for each consumer; resource_providers_uuid_key,
-- resource_classes_name_key and inventories_pkey for each key; then at most 1,000 entries of
-- allocations_provider_id_idx.
-- name: ExplainClaim :many
WITH own AS MATERIALIZED (
    SELECT held.provider_id, held.class_id, sum(held.used) AS used
    FROM unnest(@consumers::uuid[]) AS requested (consumer)
    CROSS JOIN LATERAL (SELECT consumer.id FROM consumers AS consumer WHERE consumer.uuid = requested.consumer OFFSET 0) AS known
    CROSS JOIN LATERAL (
        SELECT allocation.provider_id, allocation.class_id, allocation.used
        FROM allocations AS allocation WHERE allocation.consumer_id = known.id OFFSET 0
    ) AS held
    GROUP BY held.provider_id, held.class_id
)
SELECT
    requested.position::int AS position,
    COALESCE(provider.name, '')::text AS provider_name,
    COALESCE(inventory.total, 0)::bigint AS total,
    COALESCE(inventory.reserved, 0)::bigint AS reserved,
    COALESCE(inventory.allocation_ratio, 0)::float8 AS allocation_ratio,
    COALESCE(inventory.min_unit, 0)::bigint AS min_unit,
    COALESCE(inventory.max_unit, 0)::bigint AS max_unit,
    COALESCE(inventory.step_size, 0)::bigint AS step_size,
    COALESCE(inventory.used, 0)::bigint AS used,
    COALESCE(own.used, 0)::bigint AS own,
    (SELECT count(*) FROM (
        SELECT FROM allocations AS allocation
        WHERE @is_counted::bool AND allocation.provider_id = inventory.provider_id AND allocation.class_id = inventory.class_id
        LIMIT 1000
    ) AS counted)::bigint AS consumers
FROM unnest(@providers::uuid[]) WITH ORDINALITY AS requested (provider, position)
LEFT JOIN LATERAL (
    SELECT one.id, one.name FROM resource_providers AS one WHERE one.uuid = requested.provider OFFSET 0
) AS provider ON true
LEFT JOIN LATERAL (
    SELECT one.id FROM resource_classes AS one WHERE one.name = (@classes::text[])[requested.position] OFFSET 0
) AS class ON true
LEFT JOIN LATERAL (
    SELECT one.provider_id, one.class_id, one.total, one.reserved, one.allocation_ratio, one.min_unit, one.max_unit,
        one.step_size, one.used
    FROM inventories AS one WHERE one.provider_id = provider.id AND one.class_id = class.id OFFSET 0
) AS inventory ON true
LEFT JOIN own ON own.provider_id = inventory.provider_id AND own.class_id = inventory.class_id
ORDER BY requested.position;
