-- Returns all providers of the tree that a provider is in, and, with sharing, the providers of other trees that share with it:
-- those in an aggregate of any provider of the tree. Both are in the order of their ids, in which a provider can precede its
-- parent. A part that is empty or not requested is null;
-- records are the inventories with their usages, in the order of the classes; traits and aggregates are in the order of their
-- ids, as in the requests of one provider. No row: no such provider.
-- Called by Store.TreeShow. Locks nothing.
-- Plan: resource_providers_uuid_key, a range of resource_providers_root_id_idx, with sharing a range of
-- provider_aggregates_sharing_idx for each aggregate, then primary keys of the other tables for each provider.
-- name: TreeShow :many
WITH root AS MATERIALIZED (
    SELECT member.root_id AS id FROM resource_providers AS member WHERE member.uuid = @provider::uuid
), reached AS MATERIALIZED (
    SELECT DISTINCT sharer.provider_id AS id
    FROM root
    CROSS JOIN LATERAL (
        SELECT one.aggregate_ids FROM resource_providers AS one WHERE one.root_id = root.id AND @sharing::bool OFFSET 0
    ) AS member
    CROSS JOIN LATERAL unnest(member.aggregate_ids) AS common (aggregate_id)
    CROSS JOIN LATERAL (
        SELECT one.provider_id FROM provider_aggregates AS one
        WHERE one.aggregate_id = common.aggregate_id AND one.sharing AND one.root_id <> root.id OFFSET 0
    ) AS sharer
), listed AS MATERIALIZED (
    SELECT member.id, false AS is_reached
    FROM root
    CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.root_id = root.id OFFSET 0) AS member
    UNION ALL
    SELECT reached.id, true FROM reached
)
SELECT
    provider.uuid,
    provider.name,
    generation_row.generation,
    ARRAY(SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = provider.parent_id)::uuid[] AS parent,
    root_provider.uuid AS root,
    listed.is_reached,
    records.found AS records,
    NULLIF(CASE WHEN @traits::bool THEN provider_trait_names(listed.id) END, '{}')::text[] AS traits,
    NULLIF(CASE WHEN @aggregates::bool THEN provider_aggregate_uuids(listed.id) END, '{}')::uuid[] AS aggregates
FROM listed
CROSS JOIN LATERAL (
    SELECT one.uuid, one.name, one.parent_id, one.root_id FROM resource_providers AS one WHERE one.id = listed.id OFFSET 0
) AS provider
CROSS JOIN LATERAL (
    SELECT one.generation FROM provider_generations AS one WHERE one.provider_id = listed.id OFFSET 0
) AS generation_row
CROSS JOIN LATERAL (
    SELECT one.uuid FROM resource_providers AS one WHERE one.id = provider.root_id OFFSET 0
) AS root_provider
CROSS JOIN LATERAL (
    SELECT json_agg(json_build_object('class', class.name, 'total', one.total, 'reserved', one.reserved,
        'min_unit', one.min_unit, 'max_unit', one.max_unit, 'step_size', one.step_size,
        'allocation_ratio', one.allocation_ratio, 'used', one.used) ORDER BY one.class_id)::json AS found
    FROM inventories AS one
    CROSS JOIN LATERAL (SELECT known.name FROM resource_classes AS known WHERE known.id = one.class_id OFFSET 0) AS class
    WHERE one.provider_id = listed.id AND @records::bool OFFSET 0
) AS records
ORDER BY listed.is_reached, listed.id;

-- Returns the consumers that have something of a provider of a tree, with all their allocations, also those elsewhere: a row for
-- each allocation, in the order of the ids of consumers and allocations. With sharing also the consumers that have something of
-- a provider that shares with the tree, and nothing of a provider that does not share; sharing_only marks them.
-- The first row has the number of consumers, counted up to bound, and nothing else: if it is bound, the row is the
-- only one, and no allocation is read. A consumer belongs to a node allocation as in ConsumerList.
-- Called by Store.TreeShow, in the snapshot of the statement TreeShow. Locks nothing.
-- Plan: resource_providers_uuid_key, resource_providers_root_id_idx, a range of allocations_provider_id_idx for each provider;
-- then ranges of allocations_pkey and keys for each consumer. With sharing as in TreeShow.
-- name: TreeConsumerList :many
WITH root AS MATERIALIZED (
    SELECT member.root_id AS id FROM resource_providers AS member WHERE member.uuid = @provider::uuid
), shares AS MATERIALIZED (
    SELECT trait.id FROM traits AS trait WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE'
), reached AS MATERIALIZED (
    SELECT DISTINCT sharer.provider_id AS id
    FROM root
    CROSS JOIN LATERAL (
        SELECT one.aggregate_ids FROM resource_providers AS one WHERE one.root_id = root.id AND @sharing::bool OFFSET 0
    ) AS member
    CROSS JOIN LATERAL unnest(member.aggregate_ids) AS common (aggregate_id)
    CROSS JOIN LATERAL (
        SELECT one.provider_id FROM provider_aggregates AS one
        WHERE one.aggregate_id = common.aggregate_id AND one.sharing AND one.root_id <> root.id OFFSET 0
    ) AS sharer
), users_of_tree AS (
    SELECT DISTINCT held.consumer_id AS id
    FROM root
    CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.root_id = root.id OFFSET 0) AS member
    CROSS JOIN LATERAL (SELECT one.consumer_id FROM allocations AS one WHERE one.provider_id = member.id OFFSET 0) AS held
), users_of_reached AS (
    SELECT DISTINCT held.consumer_id AS id
    FROM reached
    CROSS JOIN LATERAL (SELECT one.consumer_id FROM allocations AS one WHERE one.provider_id = reached.id OFFSET 0) AS held
), users_of_shares AS (  -- without those of the tree
    SELECT candidate.id
    FROM users_of_reached AS candidate
    CROSS JOIN LATERAL (
        SELECT bool_or(provider.root_id = (SELECT root.id FROM root)
            OR NOT provider.trait_ids @> ARRAY(SELECT shares.id FROM shares)) AS has_others
        FROM allocations AS one
        CROSS JOIN LATERAL (
            SELECT other.root_id, other.trait_ids FROM resource_providers AS other WHERE other.id = one.provider_id OFFSET 0
        ) AS provider
        WHERE one.consumer_id = candidate.id OFFSET 0
    ) AS uses
    WHERE NOT uses.has_others
), bounded AS MATERIALIZED (
    SELECT listed.id, listed.sharing_only
    FROM (
        SELECT users_of_tree.id, false AS sharing_only FROM users_of_tree
        UNION ALL
        SELECT users_of_shares.id, true FROM users_of_shares
    ) AS listed
    LIMIT @bound::bigint
), counted AS MATERIALIZED (
    SELECT count(*) AS consumers FROM bounded
)
SELECT
    counted.consumers,
    '00000000-0000-0000-0000-000000000000'::uuid AS consumer, 0::bigint AS generation,
    ''::text AS project_id, ''::text AS user_id, NULL::text AS type,
    false AS sharing_only, false AS is_node_allocation, NULL::text AS node_allocation_name,
    '00000000-0000-0000-0000-000000000000'::uuid AS provider, ''::text AS provider_name,
    '00000000-0000-0000-0000-000000000000'::uuid AS root, 0::bigint AS provider_generation,
    ''::text AS class, 0::bigint AS used, now()::timestamptz AS created_at,
    NULL::jsonb AS lease,
    0::bigint AS consumer_order, 0::bigint AS allocation_order
FROM counted
UNION ALL
SELECT
    counted.consumers,
    consumer.uuid, consumer.generation,
    project.external_id, owner.external_id, consumer.type,
    bounded.sharing_only, node_allocation.id IS NOT NULL, node_allocation.name,
    provider.uuid, provider.name,
    provider.root, provider.generation,
    class.name, held.used, held.created_at,
    consumer.lease,
    bounded.id, held.id
FROM counted
JOIN bounded ON counted.consumers < @bound::bigint
CROSS JOIN LATERAL (
    SELECT one.uuid, one.generation, one.project_id, one.user_id,
        (SELECT kind.name FROM consumer_types AS kind WHERE kind.id = one.consumer_type_id) AS type,
        CASE WHEN one.leased THEN (SELECT lease_show(lease) FROM leases AS lease WHERE lease.consumer_id = one.id) END AS lease
    FROM consumers AS one WHERE one.id = bounded.id OFFSET 0
) AS consumer
CROSS JOIN LATERAL (SELECT one.external_id FROM projects AS one WHERE one.id = consumer.project_id OFFSET 0) AS project
CROSS JOIN LATERAL (SELECT one.external_id FROM users AS one WHERE one.id = consumer.user_id OFFSET 0) AS owner
-- A consumer that has nothing on the node has the UUID of the node allocation by coincidence.
LEFT JOIN LATERAL (
    SELECT one.id, one.name FROM node_allocations AS one
    WHERE one.uuid = consumer.uuid AND EXISTS (
        SELECT FROM nodes AS node
        JOIN resource_providers AS provider ON provider.uuid = node.uuid
        JOIN allocations AS allocation ON allocation.consumer_id = bounded.id AND allocation.provider_id = provider.id
        WHERE node.id = one.node_id OFFSET 0)
    OFFSET 0
) AS node_allocation ON true
CROSS JOIN LATERAL (
    SELECT one.id, one.provider_id, one.class_id, one.used, one.created_at
    FROM allocations AS one WHERE one.consumer_id = bounded.id OFFSET 0
) AS held
CROSS JOIN LATERAL (
    SELECT one.uuid, one.name,
        (SELECT top.uuid FROM resource_providers AS top WHERE top.id = one.root_id) AS root,
        (SELECT generation_row.generation FROM provider_generations AS generation_row
            WHERE generation_row.provider_id = one.id) AS generation
    FROM resource_providers AS one WHERE one.id = held.provider_id OFFSET 0
) AS provider
CROSS JOIN LATERAL (SELECT one.name FROM resource_classes AS one WHERE one.id = held.class_id OFFSET 0) AS class
ORDER BY consumer_order, allocation_order;
