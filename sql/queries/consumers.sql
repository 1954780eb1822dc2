-- Returns a page of consumers that pass the filters, with the sums of their allocations, and with include all allocations.
-- Parameters are those of the function consumer_find. The row after the last one of the page, the max_rows-th or the
-- one with is_last, is the place of the next page.
-- Called by Store.ConsumerList and Store.ConsumerShow. Locks nothing.
-- Plan: that of the function, then keys for each row of the page: consumers_pkey, allocations_pkey, and the keys of the
-- names. node_allocations_uuid_key tells which consumers have claimed a node for an allocation of the Bare Metal API.
-- name: ConsumerList :many
WITH page AS MATERIALIZED (
    SELECT looked.rank, looked.id, looked.is_last
    FROM consumer_find(
        @descending::bool, @from_rank::bigint, sqlc.narg('low')::uuid, sqlc.narg('high')::uuid, @bound::bigint,
        sqlc.narg('uuids')::uuid[], sqlc.narg('project')::text, sqlc.narg('owner')::text, sqlc.narg('type')::text,
        sqlc.narg('providers')::uuid[], sqlc.narg('tree')::uuid, sqlc.narg('classes')::text[], sqlc.narg('trait')::text,
        sqlc.narg('created_before')::timestamptz, sqlc.narg('created_after')::timestamptz,
        sqlc.narg('updated_before')::timestamptz, sqlc.narg('updated_after')::timestamptz,
        sqlc.narg('leased')::bool, sqlc.narg('expires_before')::timestamptz, sqlc.narg('until_before')::timestamptz,
        sqlc.narg('from_expiry')::timestamptz
    ) AS looked (rank, id, is_last)
    ORDER BY looked.rank LIMIT @max_rows::int
)
SELECT
    page.id::bigint AS id,
    page.is_last::bool AS is_last,
    consumer.uuid,
    project.external_id AS project_id,
    owner.external_id AS user_id,
    -- no element or one
    ARRAY(SELECT type.name FROM consumer_types AS type WHERE type.id = consumer.consumer_type_id)::text[] AS type,
    consumer.generation,
    consumer.created_at,
    COALESCE(consumer.updated_at, consumer.created_at)::timestamptz AS updated_at,
    summed.classes::text[] AS classes,
    summed.amounts::bigint[] AS amounts,
    (SELECT count(DISTINCT allocation.provider_id) FROM allocations AS allocation WHERE allocation.consumer_id = page.id)::bigint AS provider_count,
    part.providers::uuid[] AS allocation_providers,
    part.roots::uuid[] AS allocation_roots,
    part.names::text[] AS allocation_names,
    part.generations::bigint[] AS allocation_generations,
    part.classes::text[] AS allocation_classes,
    part.amounts::bigint[] AS allocation_amounts,
    part.created::timestamptz[] AS allocation_created,
    (node_allocation.id IS NOT NULL)::bool AS is_node_allocation,
    node_allocation.name AS node_allocation_name,
    CASE WHEN consumer.leased THEN (
        SELECT lease_show(lease) FROM leases AS lease WHERE lease.consumer_id = page.id
    ) END::jsonb AS lease
FROM page
CROSS JOIN LATERAL (
    SELECT one.uuid, one.generation, one.project_id, one.user_id, one.consumer_type_id, one.created_at, one.updated_at, one.leased
    FROM consumers AS one WHERE one.id = page.id OFFSET 0
) AS consumer
CROSS JOIN LATERAL (SELECT one.external_id FROM projects AS one WHERE one.id = consumer.project_id OFFSET 0) AS project
CROSS JOIN LATERAL (SELECT one.external_id FROM users AS one WHERE one.id = consumer.user_id OFFSET 0) AS owner
CROSS JOIN LATERAL (
    SELECT
        COALESCE(array_agg(class.name ORDER BY class.id), '{}') AS classes,
        COALESCE(array_agg(class.used ORDER BY class.id), '{}') AS amounts
    FROM (
        SELECT allocation.class_id AS id, sum(allocation.used)::bigint AS used,
            (SELECT one.name FROM resource_classes AS one WHERE one.id = allocation.class_id) AS name
        FROM allocations AS allocation WHERE allocation.consumer_id = page.id GROUP BY allocation.class_id
    ) AS class
) AS summed
CROSS JOIN LATERAL (
    SELECT
        COALESCE(array_agg(provider.uuid ORDER BY allocation.id), '{}') AS providers,
        COALESCE(array_agg(provider.root_uuid ORDER BY allocation.id), '{}') AS roots,
        COALESCE(array_agg(provider.name ORDER BY allocation.id), '{}') AS names,
        COALESCE(array_agg(provider.generation ORDER BY allocation.id), '{}') AS generations,
        COALESCE(array_agg(provider.class ORDER BY allocation.id), '{}') AS classes,
        COALESCE(array_agg(allocation.used ORDER BY allocation.id), '{}') AS amounts,
        COALESCE(array_agg(allocation.created_at ORDER BY allocation.id), '{}') AS created
    FROM (
        SELECT one.id, one.provider_id, one.class_id, one.used, one.created_at
        FROM allocations AS one WHERE one.consumer_id = page.id AND @with_allocations::bool OFFSET 0
    ) AS allocation
    CROSS JOIN LATERAL (
        SELECT one.uuid, one.name,
            (SELECT root.uuid FROM resource_providers AS root WHERE root.id = one.root_id) AS root_uuid,
            (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = one.id) AS generation,
            (SELECT class.name FROM resource_classes AS class WHERE class.id = allocation.class_id) AS class
        FROM resource_providers AS one WHERE one.id = allocation.provider_id OFFSET 0
    ) AS provider
) AS part
-- A consumer that has nothing on the node has the UUID of the node allocation by coincidence.
LEFT JOIN LATERAL (
    SELECT one.id, one.name FROM node_allocations AS one
    WHERE one.uuid = consumer.uuid AND EXISTS (
        SELECT FROM nodes AS node
        JOIN resource_providers AS provider ON provider.uuid = node.uuid
        JOIN allocations AS allocation ON allocation.consumer_id = page.id AND allocation.provider_id = provider.id
        WHERE node.id = one.node_id OFFSET 0)
    OFFSET 0
) AS node_allocation ON true
ORDER BY page.rank;

-- Returns the number of consumers that pass the filters among the first max_counted, and whether there are more than these.
-- Other parameters are as in ConsumerList. each_passes: there is no filter, or only that on low and high.
-- Called by Store.ConsumerCount. Locks nothing.
-- Plan: consumers_pkey or consumers_uuid_key without a filter, else that of the function.
-- name: ConsumerCount :one
SELECT count(*) FILTER (WHERE NOT counted.is_last)::bigint AS count, COALESCE(bool_or(counted.is_last), false)::bool AS has_more
FROM (
    SELECT row_number() OVER () > @max_counted::bigint AS is_last FROM (
        (
            SELECT FROM consumers AS consumer
            WHERE @each_passes::bool AND sqlc.narg('low')::uuid IS NULL
            ORDER BY consumer.id LIMIT sqlc.arg('max_counted')::bigint + 1
        )
        UNION ALL
        (
            SELECT FROM consumers AS consumer
            WHERE @each_passes::bool AND consumer.uuid BETWEEN sqlc.narg('low')::uuid AND sqlc.narg('high')::uuid
            ORDER BY consumer.uuid LIMIT sqlc.arg('max_counted')::bigint + 1
        )
    ) AS every
    UNION ALL
    SELECT looked.is_last FROM consumer_find(
        false, @from_rank::bigint, sqlc.narg('low')::uuid, sqlc.narg('high')::uuid, sqlc.arg('max_counted')::bigint + 1,
        sqlc.narg('uuids')::uuid[], sqlc.narg('project')::text, sqlc.narg('owner')::text, sqlc.narg('type')::text,
        sqlc.narg('providers')::uuid[], sqlc.narg('tree')::uuid, sqlc.narg('classes')::text[], sqlc.narg('trait')::text,
        sqlc.narg('created_before')::timestamptz, sqlc.narg('created_after')::timestamptz,
        sqlc.narg('updated_before')::timestamptz, sqlc.narg('updated_after')::timestamptz,
        sqlc.narg('leased')::bool, sqlc.narg('expires_before')::timestamptz, sqlc.narg('until_before')::timestamptz, NULL
    ) AS looked (rank, id, is_last)
    WHERE NOT @each_passes::bool
) AS counted;
