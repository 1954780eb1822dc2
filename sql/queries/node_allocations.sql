-- POST /v1/allocations. See the function. It returns everything that the response contains: before
-- another query could read the allocation, it may be processed or deleted.
-- name: NodeAllocationCreate :one
SELECT allocation.id::bigint AS id, allocation.uuid::uuid AS uuid, allocation.state::text AS state, allocation.resource_class::text AS resource_class,
    allocation.candidate_nodes::uuid[] AS candidate_nodes, allocation.revision::bigint AS revision,
    allocation.created_at::timestamptz AS created_at, allocation.updated_at AS updated_at,
    coalesce((SELECT node.uuid FROM nodes AS node WHERE node.id = allocation.node_id), '00000000-0000-0000-0000-000000000000')::uuid AS node_uuid
FROM node_allocation_create(
    sqlc.narg('uuid')::uuid, sqlc.narg('name')::text, sqlc.narg('class')::text, @traits::text[],
    @candidate_uuids::uuid[], @candidate_names::text[], @extra::jsonb, sqlc.narg('owner')::text, @conductor::text,
    @backfill::bool, sqlc.narg('node_uuid')::uuid, sqlc.narg('node_name')::text,
    @extended::bool, @sticky::bool, NULL, NULL, @quiet::bool) AS allocation;

-- POST /v1/allocations for a batch: the name of each member is the name of the batch and a number. See
-- the function.
-- Called by Store.NodeAllocationCreateBatch.
-- name: NodeAllocationCreateBatch :many
SELECT allocation.id::bigint AS id, allocation.uuid::uuid AS uuid, allocation.name AS name, allocation.candidate_nodes::uuid[] AS candidate_nodes,
    allocation.created_at::timestamptz AS created_at
FROM generate_series(1, @number::int) AS member (position),
    node_allocation_create(
        NULL, sqlc.narg('name')::text || '-' || member.position, @class::text, @traits::text[],
        @candidate_uuids::uuid[], @candidate_names::text[], @extra::jsonb, sqlc.narg('owner')::text, @conductor::text,
        false, NULL, NULL, true, @sticky::bool, @batch::uuid, @minimum::int, @quiet::bool) AS allocation
ORDER BY allocation.id;

-- POST /v1/allocations/{allocation}/retry. See the function.
-- name: NodeAllocationRetry :exec
SELECT node_allocation_retry(sqlc.narg('uuid')::uuid, sqlc.narg('name')::text, @conductor::text);

-- Processes an allocation. See the function.
-- name: NodeAllocationProcess :one
SELECT node_allocation_process_counted(@uuid::uuid, @conductor::text)::text[] AS stages;

-- DELETE of an allocation, by its own UUID or name or by those of its node. See the function.
-- name: NodeAllocationDelete :exec
SELECT node_allocation_delete(sqlc.narg('uuid')::uuid, sqlc.narg('name')::text, @of_node::bool);

-- Returns an allocation by its UUID or its name; the other is null.
-- Called by Store.NodeAllocationShow, -Process and -Update. Locks nothing.
-- Plan: node_allocations_uuid_key and node_allocations_name_key, then keys.
-- name: NodeAllocationShow :one
SELECT sqlc.embed(allocation), node.uuid AS node_uuid, conductor.hostname AS conductor
FROM node_allocations AS allocation
LEFT JOIN nodes AS node ON node.id = allocation.node_id
LEFT JOIN conductors AS conductor ON conductor.id = allocation.conductor_id
WHERE allocation.uuid = sqlc.narg('uuid')::uuid OR allocation.name = sqlc.narg('name')::text;

-- Returns the allocation of a node, by the node's UUID or name; the other is null. A node without one
-- is a row with a null allocation; no row: no such node.
-- Called by Store.NodeAllocationShowByNode. Locks nothing.
-- Plan: nodes_uuid_key and nodes_name_key, then node_allocations_node_id_key.
-- name: NodeAllocationShowByNode :one
SELECT node.uuid AS node_uuid, allocation.uuid AS allocation_uuid
FROM nodes AS node
LEFT JOIN node_allocations AS allocation ON allocation.node_id = node.id
WHERE node.uuid = sqlc.narg('node_uuid')::uuid OR node.name = sqlc.narg('node_name')::text;

-- Returns a page of the allocations that pass the filters, in the order of their ids: those with an id
-- greater than after.
-- Called by Store.NodeAllocationList, unless the request has another order. Locks nothing.
-- Plan: a range of node_allocations_pkey, until the page is full; for a node
-- node_allocations_node_id_key. Only one branch of start runs.
-- name: NodeAllocationList :many
SELECT sqlc.embed(allocation), node.uuid AS node_uuid, conductor.hostname AS conductor
FROM (
    SELECT listed.id FROM node_allocations AS listed
    WHERE sqlc.narg('node')::uuid IS NULL AND listed.id > @after::bigint
    UNION ALL
    SELECT listed.id FROM node_allocations AS listed
    WHERE sqlc.narg('node')::uuid IS NOT NULL AND listed.id > @after::bigint
      AND listed.node_id = (SELECT node.id FROM nodes AS node WHERE node.uuid = sqlc.narg('node')::uuid)
) AS start
JOIN node_allocations AS allocation ON allocation.id = start.id
LEFT JOIN nodes AS node ON node.id = allocation.node_id
LEFT JOIN conductors AS conductor ON conductor.id = allocation.conductor_id
WHERE (sqlc.narg('state')::text IS NULL OR allocation.state = sqlc.narg('state')::text)
  AND (sqlc.narg('resource_class')::text IS NULL OR allocation.resource_class = sqlc.narg('resource_class')::text)
  AND (sqlc.narg('owner')::text IS NULL OR allocation.owner = sqlc.narg('owner')::text)
ORDER BY start.id
LIMIT @page::int;

-- NodeAllocationList in another order: by a column, null first, and then by id, both descending if
-- descending.
-- Called by Store.NodeAllocationList. Locks nothing.
-- Plan: a scan and sort of all that pass; the cost follows the table.
-- name: NodeAllocationListSorted :many
WITH sorted AS (
    SELECT allocation.id, allocation.uuid, row_number() OVER (ORDER BY
        CASE @sort_key::text
            WHEN 'uuid' THEN allocation.uuid::text
            WHEN 'name' THEN allocation.name
            WHEN 'state' THEN allocation.state
            WHEN 'resource_class' THEN allocation.resource_class
            WHEN 'owner' THEN allocation.owner
            WHEN 'last_error' THEN allocation.last_error
            WHEN 'created_at' THEN to_char(allocation.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
            WHEN 'updated_at' THEN to_char(allocation.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
        END COLLATE "C" NULLS FIRST,
        allocation.id
    ) * CASE WHEN @descending::bool THEN -1 ELSE 1 END AS position
    FROM node_allocations AS allocation
    WHERE (sqlc.narg('state')::text IS NULL OR allocation.state = sqlc.narg('state')::text)
      AND (sqlc.narg('resource_class')::text IS NULL OR allocation.resource_class = sqlc.narg('resource_class')::text)
      AND (sqlc.narg('owner')::text IS NULL OR allocation.owner = sqlc.narg('owner')::text)
      AND (sqlc.narg('node')::uuid IS NULL OR allocation.node_id = (
            SELECT node.id FROM nodes AS node WHERE node.uuid = sqlc.narg('node')::uuid))
)
SELECT sqlc.embed(allocation), node.uuid AS node_uuid, conductor.hostname AS conductor
FROM sorted
JOIN node_allocations AS allocation ON allocation.id = sorted.id
LEFT JOIN nodes AS node ON node.id = allocation.node_id
LEFT JOIN conductors AS conductor ON conductor.id = allocation.conductor_id
WHERE sqlc.narg('marker')::uuid IS NULL
   OR sorted.position > (SELECT marker_row.position FROM sorted AS marker_row WHERE marker_row.uuid = sqlc.narg('marker')::uuid)
ORDER BY sorted.position
LIMIT @page::int;

-- Judges the nodes that the caller may list by an allocation: GET /v1/allocations/{allocation}/explanation.
-- A row is a group of nodes with one class, one provision state and the same stages that they pass, in
-- this order: available, no_instance, no_maintenance, powered, owner, candidate_nodes; for the nodes of
-- classes also one for each of traits and, where nodes are providers, unclaimed. Several groups may have
-- the same. first_ids, first_uuids and first_names are those of its first five nodes by id, only for these
-- classes; a node without a name has an empty one. Without nodes there is one row with a node_count of 0.
--
-- The stages must be the conditions of node_allocation_matching_nodes, which decides; a test compares the
-- two. listable is false for a caller that may list no nodes, and project restricts it to the nodes that
-- this project owns or leases. trait_names are all names in traits.
-- Called by Store.NodeAllocationExplain. Locks nothing.
-- Plan: one scan of nodes; for each node of the classes an entry of node_traits for each name and, where
-- nodes are providers, resource_providers_uuid_key and inventories_pkey. Elements of traits are judged for
-- groups, not for nodes. Measured: 90 to 130 ms for 9,000 nodes of the class.
-- name: NodeAllocationExplain :many
SELECT grouped.placement AS are_providers, grouped.resource_class::text AS resource_class, grouped.provision_state::text AS provision_state,
    (grouped.passed || CASE WHEN grouped.traits IS NULL THEN '{}' ELSE ARRAY(
        SELECT (requested.trait LIKE '!%')
            <> (grouped.traits && string_to_array(regexp_replace(requested.trait, '^(!|in:)', ''), ','))
        FROM unnest(@traits::text[]) WITH ORDINALITY AS requested (trait, position)
        ORDER BY requested.position
    ) || grouped.unclaimed END)::bool[] AS passed,
    grouped.node_count, grouped.first_ids::bigint[] AS first_ids, grouped.first_uuids::uuid[] AS first_uuids, grouped.first_names::text[] AS first_names
FROM (
    SELECT backend.placement, coalesce(node.resource_class, '') AS resource_class, coalesce(node.provision_state, '') AS provision_state,
        judged.passed, judged.traits, judged.unclaimed, count(node.id) AS node_count,
        coalesce((array_agg(node.id ORDER BY node.id) FILTER (WHERE judged.traits IS NOT NULL))[1:5], '{}') AS first_ids,
        coalesce((array_agg(node.uuid ORDER BY node.id) FILTER (WHERE judged.traits IS NOT NULL))[1:5], '{}') AS first_uuids,
        coalesce((array_agg(coalesce(node.name, '') ORDER BY node.id) FILTER (WHERE judged.traits IS NOT NULL))[1:5], '{}') AS first_names
    FROM baremetal_backend AS backend
    LEFT JOIN nodes AS node ON @listable::bool AND (
        sqlc.narg('project')::text IS NULL OR node.owner = sqlc.narg('project')::text OR node.lessee = sqlc.narg('project')::text)
    LEFT JOIN (
        SELECT requested.resource_class, class.id AS class_id
        FROM unnest(@classes::text[]) AS requested (resource_class)
        LEFT JOIN resource_classes AS class ON class.name = node_provider_class_name(requested.resource_class)
    ) AS judged_class ON judged_class.resource_class = node.resource_class
    CROSS JOIN LATERAL (
        SELECT
            CASE WHEN node.id IS NULL THEN '{}' ELSE ARRAY[
                node.provision_state = 'available', node.instance_uuid IS NULL, NOT node.maintenance, node.power_state IS NOT NULL,
                sqlc.narg('owner')::text IS NULL OR coalesce(node.owner = sqlc.narg('owner')::text, false)
                    OR coalesce(node.lessee = sqlc.narg('owner')::text, false),
                @candidate_nodes::uuid[] = '{}' OR node.uuid = ANY (@candidate_nodes::uuid[])
            ] END AS passed,
            CASE WHEN judged_class.resource_class IS NOT NULL THEN ARRAY(
                SELECT node_trait.trait FROM node_traits AS node_trait
                WHERE node_trait.node_id = node.id AND node_trait.trait = ANY (@trait_names::text[])
                ORDER BY node_trait.trait) END AS traits,
            CASE WHEN judged_class.resource_class IS NOT NULL AND backend.placement THEN ARRAY[coalesce(1 <= (
                SELECT unit.free FROM inventories AS unit
                WHERE unit.class_id = judged_class.class_id AND unit.provider_id = (
                    SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = node.uuid)), false)] ELSE '{}' END AS unclaimed
        OFFSET 0
    ) AS judged
    GROUP BY 1, 2, 3, 4, 5, 6
) AS grouped
ORDER BY 2, 3, 4;

-- Returns the traits that some of the nodes have that the caller may list.
-- Called by Store.NodeAllocationExplain, if no node of the class has a requested trait. listable and
-- project are those of NodeAllocationExplain. Locks nothing.
-- Plan: for each trait a lookup in node_traits_trait_idx, and with project a range of it up to a node that
-- the caller may list.
-- name: NodeAllocationExplainTraits :many
WITH RECURSIVE known AS (
    SELECT (SELECT min(lowest.trait) FROM node_traits AS lowest) AS trait
    UNION ALL
    SELECT (SELECT min(higher.trait) FROM node_traits AS higher WHERE higher.trait > known.trait)
    FROM known WHERE known.trait IS NOT NULL
)
SELECT known.trait::text AS trait
FROM known
WHERE known.trait IS NOT NULL AND (sqlc.narg('project')::text IS NULL OR EXISTS (
    SELECT FROM node_traits AS node_trait JOIN nodes AS node ON node.id = node_trait.node_id
    WHERE node_trait.trait = known.trait AND (node.owner = sqlc.narg('project')::text OR node.lessee = sqlc.narg('project')::text)))
ORDER BY known.trait;

-- PATCH /v1/allocations/{allocation}. See the function.
-- name: NodeAllocationUpdate :one
SELECT node_allocation_update(@id::bigint, @revision::bigint, sqlc.narg('name')::text, @extra::jsonb)::timestamptz AS updated_at;

-- Returns the allocations that a conductor has to process, oldest first.
-- Called by Store.NodeAllocationListPending. Locks nothing.
-- Plan: node_allocations_allocating_idx.
-- name: NodeAllocationListPending :many
SELECT allocation.uuid
FROM node_allocations AS allocation
WHERE allocation.state = 'allocating' AND allocation.conductor_id = (
    SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = @hostname::text)
ORDER BY allocation.conductor_id, allocation.id;

-- Sets whether nodes are providers. See the function.
-- name: BaremetalBackendSet :exec
SELECT baremetal_backend_set(@placement::bool);
