-- Returns a node by its UUID or its name; the other is null. sqlc replaces node.* (and listed.* below)
-- by the columns of nodes when it generates the code, so no statement that runs contains a star.
-- Called by Store.NodeShow and Store.NodeUpdate. Locks nothing.
-- Plan: nodes_uuid_key and nodes_name_key, then keys.
-- name: NodeShow :one
SELECT node.*,
    ARRAY(SELECT node_trait.trait FROM node_traits AS node_trait WHERE node_trait.node_id = node.id ORDER BY node_trait.trait)::text[] AS traits,
    -- no element or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT allocation.uuid FROM node_allocations AS allocation WHERE allocation.node_id = node.id AND allocation.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM nodes AS node
WHERE node.uuid = sqlc.narg('node')::uuid OR node.name = sqlc.narg('name')::text;

-- Returns a page of the nodes that pass the filters, in the order of their ids, starting after the
-- marker, a node's UUID. After an unknown marker there are no nodes.
-- Called by Store.NodeList, which sets leading_filter. Locks nothing.
--
-- leading_filter names the filter whose index finds the nodes. Each branch of start has a constant
-- condition, so that in one prepared statement only one of them runs. The other filters are checked
-- for each node of that branch. Keep them the same as those of NodeListSorted; a test compares the
-- two. They stand in a CASE, because the planner overestimates the selectivity of each: it would
-- expect that the page never fills, and sort all nodes instead of walking them in order. For a CASE it
-- has no estimate.
-- Plan: nodes_instance_uuid_key, nodes_conductor_id_idx or nodes_free_idx; for other filters a walk of
-- nodes_pkey that ends when the page is full.
-- name: NodeList :many
SELECT node.*,
    ARRAY(SELECT node_trait.trait FROM node_traits AS node_trait WHERE node_trait.node_id = node.id ORDER BY node_trait.trait)::text[] AS traits,
    -- no element or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT allocation.uuid FROM node_allocations AS allocation WHERE allocation.node_id = node.id AND allocation.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM (
    -- Each branch is sorted, so that PostgreSQL merges them instead of sorting.
    (SELECT listed.id FROM nodes AS listed
     WHERE @leading_filter::text = 'instance' AND listed.instance_uuid = sqlc.narg('instance')::uuid
     ORDER BY listed.id)
    UNION ALL
    (SELECT listed.id FROM nodes AS listed
     WHERE @leading_filter::text = 'conductor' AND listed.conductor_id = (
        SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = sqlc.narg('conductor')::text)
     ORDER BY listed.id)
    UNION ALL
    (SELECT listed.id FROM nodes AS listed
     WHERE @leading_filter::text = 'free' AND listed.resource_class = sqlc.narg('resource_class')::text
       AND listed.provision_state = 'available' AND listed.instance_uuid IS NULL AND NOT listed.maintenance
     ORDER BY listed.id)
    UNION ALL
    (SELECT listed.id FROM nodes AS listed
     WHERE @leading_filter::text = 'none'
       AND listed.id > CASE
        WHEN sqlc.narg('marker')::uuid IS NULL THEN 0
        ELSE (SELECT marker.id FROM nodes AS marker WHERE marker.uuid = sqlc.narg('marker')::uuid) END
     ORDER BY listed.id)
) AS start
    -- OFFSET 0 forces an index lookup: the planner estimates start to have the rows of all
    -- its branches together, and would choose a scan and a hash join.
CROSS JOIN LATERAL (
    SELECT listed.* FROM nodes AS listed WHERE listed.id = start.id OFFSET 0
) AS node
WHERE (sqlc.narg('marker')::uuid IS NULL OR start.id > (
    SELECT marker.id FROM nodes AS marker WHERE marker.uuid = sqlc.narg('marker')::uuid))
  AND CASE WHEN (
      (sqlc.narg('provision_state')::text IS NULL OR node.provision_state = sqlc.narg('provision_state')::text)
      AND (sqlc.narg('resource_class')::text IS NULL OR node.resource_class = sqlc.narg('resource_class')::text)
      AND (sqlc.narg('associated')::bool IS NULL OR (node.instance_uuid IS NOT NULL) = sqlc.narg('associated')::bool)
      AND (sqlc.narg('maintenance')::bool IS NULL OR node.maintenance = sqlc.narg('maintenance')::bool)
      AND (sqlc.narg('instance')::uuid IS NULL OR node.instance_uuid = sqlc.narg('instance')::uuid)
      AND (sqlc.narg('driver')::text IS NULL OR node.driver = sqlc.narg('driver')::text)
      AND (sqlc.narg('owner')::text IS NULL OR node.owner = sqlc.narg('owner')::text)
      AND (sqlc.narg('lessee')::text IS NULL OR node.lessee = sqlc.narg('lessee')::text)
      AND (sqlc.narg('project')::text IS NULL OR node.owner = sqlc.narg('project')::text OR node.lessee = sqlc.narg('project')::text)
      AND (sqlc.narg('conductor_group')::text IS NULL OR node.conductor_group = sqlc.narg('conductor_group')::text)
      AND (sqlc.narg('fault')::text IS NULL OR node.fault = sqlc.narg('fault')::text)
      AND (sqlc.narg('retired')::bool IS NULL OR node.retired = sqlc.narg('retired')::bool)
      AND (sqlc.narg('conductor')::text IS NULL OR node.conductor_id = (
            SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = sqlc.narg('conductor')::text))
      AND (sqlc.narg('description_contains')::text IS NULL
           OR strpos(node.details ->> 'description', sqlc.narg('description_contains')::text) > 0)
      AND (sqlc.narg('chassis')::text IS NULL OR node.details ->> 'chassis_uuid' = sqlc.narg('chassis')::text)
      AND (sqlc.narg('shards')::text[] IS NULL OR node.details ->> 'shard' = ANY (sqlc.narg('shards')::text[]))
      AND (sqlc.narg('sharded')::bool IS NULL OR (node.details ->> 'shard' IS NOT NULL) = sqlc.narg('sharded')::bool)
  ) THEN true ELSE false END
ORDER BY start.id
LIMIT @page::int;

-- NodeList in any other order: by any column or member of details, null first, then by id in the same
-- direction. The position of the marker is its current one.
-- Called by Store.NodeList. Locks nothing.
-- Plan: a scan of nodes and a sort of keys; then a page of keys.
-- name: NodeListSorted :many
WITH sorted AS (
    SELECT listed.id, listed.uuid, COALESCE(CASE @sort_key::text
        WHEN 'uuid' THEN listed.uuid::text
        WHEN 'name' THEN listed.name
        WHEN 'driver' THEN listed.driver
        WHEN 'resource_class' THEN listed.resource_class
        WHEN 'provision_state' THEN listed.provision_state
        WHEN 'target_provision_state' THEN listed.target_provision_state
        WHEN 'provision_updated_at' THEN to_char(listed.provision_updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'power_state' THEN listed.power_state
        WHEN 'target_power_state' THEN listed.target_power_state
        WHEN 'maintenance' THEN listed.maintenance::text
        WHEN 'maintenance_reason' THEN listed.maintenance_reason
        WHEN 'fault' THEN listed.fault
        WHEN 'instance_uuid' THEN listed.instance_uuid::text
        WHEN 'owner' THEN listed.owner
        WHEN 'lessee' THEN listed.lessee
        WHEN 'protected' THEN listed.protected::text
        WHEN 'retired' THEN listed.retired::text
        WHEN 'conductor_group' THEN listed.conductor_group
        WHEN 'last_error' THEN listed.last_error
        WHEN 'created_at' THEN to_char(listed.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'updated_at' THEN to_char(listed.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'id' THEN ''
        ELSE listed.details ->> @sort_key::text
    END, '') COLLATE "C" AS sort_value
    FROM nodes AS listed
), marker_row AS (
    SELECT sorted.id, sorted.sort_value FROM sorted WHERE sorted.uuid = sqlc.narg('marker')::uuid
)
SELECT node.*,
    ARRAY(SELECT node_trait.trait FROM node_traits AS node_trait WHERE node_trait.node_id = node.id ORDER BY node_trait.trait)::text[] AS traits,
    -- no element or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT allocation.uuid FROM node_allocations AS allocation WHERE allocation.node_id = node.id AND allocation.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM sorted
JOIN nodes AS node ON node.id = sorted.id
WHERE (sqlc.narg('marker')::uuid IS NULL OR CASE
    WHEN @descending::bool THEN (sorted.sort_value, sorted.id) < (SELECT marker_row.sort_value, marker_row.id FROM marker_row)
    ELSE (sorted.sort_value, sorted.id) > (SELECT marker_row.sort_value, marker_row.id FROM marker_row) END)
  AND CASE WHEN (
      (sqlc.narg('provision_state')::text IS NULL OR node.provision_state = sqlc.narg('provision_state')::text)
      AND (sqlc.narg('resource_class')::text IS NULL OR node.resource_class = sqlc.narg('resource_class')::text)
      AND (sqlc.narg('associated')::bool IS NULL OR (node.instance_uuid IS NOT NULL) = sqlc.narg('associated')::bool)
      AND (sqlc.narg('maintenance')::bool IS NULL OR node.maintenance = sqlc.narg('maintenance')::bool)
      AND (sqlc.narg('instance')::uuid IS NULL OR node.instance_uuid = sqlc.narg('instance')::uuid)
      AND (sqlc.narg('driver')::text IS NULL OR node.driver = sqlc.narg('driver')::text)
      AND (sqlc.narg('owner')::text IS NULL OR node.owner = sqlc.narg('owner')::text)
      AND (sqlc.narg('lessee')::text IS NULL OR node.lessee = sqlc.narg('lessee')::text)
      AND (sqlc.narg('project')::text IS NULL OR node.owner = sqlc.narg('project')::text OR node.lessee = sqlc.narg('project')::text)
      AND (sqlc.narg('conductor_group')::text IS NULL OR node.conductor_group = sqlc.narg('conductor_group')::text)
      AND (sqlc.narg('fault')::text IS NULL OR node.fault = sqlc.narg('fault')::text)
      AND (sqlc.narg('retired')::bool IS NULL OR node.retired = sqlc.narg('retired')::bool)
      AND (sqlc.narg('conductor')::text IS NULL OR node.conductor_id = (
            SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = sqlc.narg('conductor')::text))
      AND (sqlc.narg('description_contains')::text IS NULL
           OR strpos(node.details ->> 'description', sqlc.narg('description_contains')::text) > 0)
      AND (sqlc.narg('chassis')::text IS NULL OR node.details ->> 'chassis_uuid' = sqlc.narg('chassis')::text)
      AND (sqlc.narg('shards')::text[] IS NULL OR node.details ->> 'shard' = ANY (sqlc.narg('shards')::text[]))
      AND (sqlc.narg('sharded')::bool IS NULL OR (node.details ->> 'shard' IS NOT NULL) = sqlc.narg('sharded')::bool)
  ) THEN true ELSE false END
ORDER BY
    CASE WHEN NOT @descending::bool THEN sorted.sort_value END,
    CASE WHEN @descending::bool THEN sorted.sort_value END DESC,
    CASE WHEN @descending::bool THEN -sorted.id ELSE sorted.id END
LIMIT @page::int;

-- POST /v1/nodes. See the function.
-- name: NodeCreate :one
SELECT node.*,
    ARRAY(SELECT node_trait.trait FROM node_traits AS node_trait WHERE node_trait.node_id = node.id ORDER BY node_trait.trait)::text[] AS traits,
    -- no element or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT allocation.uuid FROM node_allocations AS allocation WHERE allocation.node_id = node.id AND allocation.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM node_create(@node::jsonb) AS node;

-- PATCH /v1/nodes/{node}. See the function. The allocation is the one before the update, unless the
-- update cleared the instance_uuid.
-- name: NodeUpdate :one
SELECT node.*,
    ARRAY(SELECT node_trait.trait FROM node_traits AS node_trait WHERE node_trait.node_id = node.id ORDER BY node_trait.trait)::text[] AS traits,
    -- no element or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT allocation.uuid FROM node_allocations AS allocation WHERE allocation.node_id = node.id AND allocation.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM node_update(@node::uuid, @revision::bigint, @given::jsonb) AS node;

-- Performs a transition of a node; no row if a guard does not match. See the function. The allocation
-- is as in NodeUpdate.
-- name: NodeTransition :one
SELECT node.*,
    ARRAY(SELECT node_trait.trait FROM node_traits AS node_trait WHERE node_trait.node_id = node.id ORDER BY node_trait.trait)::text[] AS traits,
    -- no element or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT allocation.uuid FROM node_allocations AS allocation WHERE allocation.node_id = node.id AND allocation.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM node_transition(
    sqlc.narg('node')::uuid, sqlc.narg('name')::text, @origins::text[], sqlc.narg('revision')::bigint, sqlc.narg('holder')::text,
    @state::text, sqlc.narg('target')::text, sqlc.narg('conductor')::text, sqlc.narg('last_error')::text,
    @set_power::bool, sqlc.narg('power_state')::text, sqlc.narg('target_power_state')::text, @tear_down::bool
) AS node;

-- DELETE /v1/nodes/{node}. See the function.
-- name: NodeDelete :exec
SELECT node_delete(sqlc.narg('node')::uuid, sqlc.narg('name')::text);

-- PUT and DELETE /v1/nodes/{node}/maintenance. DELETE also clears the reason and the fault. Called by
-- Store.NodeMaintenance; no row: no such node.
-- Locks: the node. Plan: nodes_uuid_key and nodes_name_key.
-- name: NodeMaintenance :execrows
UPDATE nodes SET
    maintenance = @maintenance::bool,
    maintenance_reason = CASE WHEN @maintenance::bool THEN sqlc.narg('reason')::text END,
    fault = CASE WHEN @maintenance::bool THEN fault END,
    revision = revision + 1, updated_at = now()
WHERE nodes.uuid = sqlc.narg('node')::uuid OR nodes.name = sqlc.narg('name')::text;

-- GET /v1/nodes/{node}/traits; no row: no such node.
-- Called by Store.NodeTraitList. Locks nothing. Plan: keys, then node_traits_pkey.
-- name: NodeTraitList :one
SELECT
    ARRAY(SELECT node_trait.trait FROM node_traits AS node_trait WHERE node_trait.node_id = node.id ORDER BY node_trait.trait)::text[] AS traits
FROM nodes AS node
WHERE node.uuid = sqlc.narg('node')::uuid OR node.name = sqlc.narg('name')::text;

-- PUT and DELETE /v1/nodes/{node}/traits. See the function.
-- name: NodeTraitReplace :exec
SELECT node_traits_replace(sqlc.narg('node')::uuid, sqlc.narg('name')::text, @traits::text[]);

-- PUT /v1/nodes/{node}/traits/{trait}. See the function.
-- name: NodeTraitAdd :exec
SELECT node_trait_add(sqlc.narg('node')::uuid, sqlc.narg('name')::text, @trait::text);

-- DELETE /v1/nodes/{node}/traits/{trait}. See the function.
-- name: NodeTraitDelete :exec
SELECT node_trait_delete(sqlc.narg('node')::uuid, sqlc.narg('name')::text, @trait::text);
