-- POST /v1/allocations. See the function. With all that the answer needs, since by the
-- time it could be read the allocation may be decided, or gone.
-- name: NodeAllocationCreate :one
SELECT made.id::bigint AS id, made.uuid::uuid AS uuid, made.state::text AS state, made.resource_class::text AS resource_class,
    made.candidate_nodes::uuid[] AS candidate_nodes, made.revision::bigint AS revision,
    made.created_at::timestamptz AS created_at, made.updated_at AS updated_at,
    coalesce((SELECT node.uuid FROM nodes AS node WHERE node.id = made.node_id), '00000000-0000-0000-0000-000000000000')::uuid AS node_uuid
FROM node_allocation_create(
    sqlc.narg('uuid')::uuid, sqlc.narg('name')::text, sqlc.narg('class')::text, @traits::text[],
    @candidate_uuids::uuid[], @candidate_names::text[], @extra::jsonb, sqlc.narg('owner')::text, @conductor::text,
    @backfill::bool, sqlc.narg('node_uuid')::uuid, sqlc.narg('node_name')::text,
    @extended::bool, @sticky::bool, NULL, NULL, @quiet::bool) AS made;

-- POST /v1/allocations for several at once: a batch, whose members are named with a
-- number behind the name. See the function.
-- Called by Store.NodeAllocationCreateBatch.
-- name: NodeAllocationCreateBatch :many
SELECT made.id::bigint AS id, made.uuid::uuid AS uuid, made.name AS name, made.candidate_nodes::uuid[] AS candidate_nodes,
    made.created_at::timestamptz AS created_at
FROM generate_series(1, @number::int) AS member (place),
    node_allocation_create(
        NULL, sqlc.narg('name')::text || '-' || member.place, @class::text, @traits::text[],
        @candidate_uuids::uuid[], @candidate_names::text[], @extra::jsonb, sqlc.narg('owner')::text, @conductor::text,
        false, NULL, NULL, true, @sticky::bool, @batch::uuid, @minimum::int, @quiet::bool) AS made
ORDER BY made.id;

-- POST /v1/allocations/{ident}/retry. See the function.
-- name: NodeAllocationRetry :exec
SELECT node_allocation_retry(sqlc.narg('uuid')::uuid, sqlc.narg('name')::text, @conductor::text);

-- Decides an allocation. See the function.
-- name: NodeAllocationProcess :exec
SELECT node_allocation_process(@uuid::uuid, @conductor::text);

-- DELETE of an allocation, or of a node's. See the function.
-- name: NodeAllocationDelete :exec
SELECT node_allocation_delete(sqlc.narg('uuid')::uuid, sqlc.narg('name')::text, @of_node::bool);

-- An allocation by its uuid or its name; the other is null.
-- Called by Store.NodeAllocationShow, -Process and -Update. Locks nothing.
-- Plan: node_allocations_uuid_key and node_allocations_name_key, then keys.
-- name: NodeAllocationShow :one
SELECT sqlc.embed(allocation), node.uuid AS node_uuid, conductor.hostname AS conductor
FROM node_allocations AS allocation
LEFT JOIN nodes AS node ON node.id = allocation.node_id
LEFT JOIN conductors AS conductor ON conductor.id = allocation.conductor_id
WHERE allocation.uuid = sqlc.narg('uuid')::uuid OR allocation.name = sqlc.narg('name')::text;

-- The allocation of a node, by the node's uuid or name; the other is null. A node
-- without one is a row with a null allocation; no row: no such node.
-- Called by Store.NodeAllocationOfNode. Locks nothing.
-- Plan: nodes_uuid_key and nodes_name_key, then node_allocations_node_id_key.
-- name: NodeAllocationOfNode :one
SELECT node.uuid AS node_uuid, allocation.uuid AS allocation_uuid
FROM nodes AS node
LEFT JOIN node_allocations AS allocation ON allocation.node_id = node.id
WHERE node.uuid = sqlc.narg('node_uuid')::uuid OR node.name = sqlc.narg('node_name')::text;

-- A page of the allocations that pass the filters, in the order of their ids: those
-- above after.
-- Called by Store.NodeAllocationList, if nothing else is to be sorted by. Locks nothing.
-- Plan: a range of node_allocations_pkey, until the page is full; for a node
-- node_allocations_node_id_key. Only one branch of start runs.
-- name: NodeAllocationList :many
SELECT sqlc.embed(allocation), node.uuid AS node_uuid, conductor.hostname AS conductor
FROM (
    SELECT one.id FROM node_allocations AS one
    WHERE sqlc.narg('node')::uuid IS NULL AND one.id > @after::bigint
    UNION ALL
    SELECT one.id FROM node_allocations AS one
    WHERE sqlc.narg('node')::uuid IS NOT NULL AND one.id > @after::bigint
      AND one.node_id = (SELECT wanted.id FROM nodes AS wanted WHERE wanted.uuid = sqlc.narg('node')::uuid)
) AS start
JOIN node_allocations AS allocation ON allocation.id = start.id
LEFT JOIN nodes AS node ON node.id = allocation.node_id
LEFT JOIN conductors AS conductor ON conductor.id = allocation.conductor_id
WHERE (sqlc.narg('state')::text IS NULL OR allocation.state = sqlc.narg('state')::text)
  AND (sqlc.narg('resource_class')::text IS NULL OR allocation.resource_class = sqlc.narg('resource_class')::text)
  AND (sqlc.narg('owner')::text IS NULL OR allocation.owner = sqlc.narg('owner')::text)
ORDER BY start.id
LIMIT @page::int;

-- The same in another order: by a column and then the id, both falling if so asked.
-- An unset column counts as the least.
-- Called by Store.NodeAllocationList. Locks nothing.
-- Plan: a scan and sort of all that pass; the cost follows the table, as it must.
-- name: NodeAllocationListSorted :many
WITH placed AS (
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
    ) * CASE WHEN @falling::bool THEN -1 ELSE 1 END AS place
    FROM node_allocations AS allocation
    WHERE (sqlc.narg('state')::text IS NULL OR allocation.state = sqlc.narg('state')::text)
      AND (sqlc.narg('resource_class')::text IS NULL OR allocation.resource_class = sqlc.narg('resource_class')::text)
      AND (sqlc.narg('owner')::text IS NULL OR allocation.owner = sqlc.narg('owner')::text)
      AND (sqlc.narg('node')::uuid IS NULL OR allocation.node_id = (
            SELECT wanted.id FROM nodes AS wanted WHERE wanted.uuid = sqlc.narg('node')::uuid))
)
SELECT sqlc.embed(allocation), node.uuid AS node_uuid, conductor.hostname AS conductor
FROM placed
JOIN node_allocations AS allocation ON allocation.id = placed.id
LEFT JOIN nodes AS node ON node.id = allocation.node_id
LEFT JOIN conductors AS conductor ON conductor.id = allocation.conductor_id
WHERE sqlc.narg('marker')::uuid IS NULL
   OR placed.place > (SELECT last.place FROM placed AS last WHERE last.uuid = sqlc.narg('marker')::uuid)
ORDER BY placed.place
LIMIT @page::int;

-- PATCH /v1/allocations/{ident}. See the function.
-- name: NodeAllocationUpdate :one
SELECT node_allocation_update(@id::bigint, @revision::bigint, sqlc.narg('name')::text, @extra::jsonb)::timestamptz AS updated_at;

-- What a conductor has to decide, oldest first.
-- Called by Store.NodeAllocationMine. Locks nothing.
-- Plan: node_allocations_allocating_idx.
-- name: NodeAllocationMine :many
SELECT allocation.uuid
FROM node_allocations AS allocation
WHERE allocation.state = 'allocating' AND allocation.conductor_id = (
    SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = @hostname::text)
ORDER BY allocation.conductor_id, allocation.id;

-- Whether nodes are providers. See the function.
-- name: BaremetalBackendSet :exec
SELECT node_provider_backend(@placement::bool);
