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
-- name: NodeAllocationProcess :exec
SELECT node_allocation_process(@uuid::uuid, @conductor::text);

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
