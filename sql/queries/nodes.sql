-- A node by its uuid or its name; the other is null.
-- Called by Store.NodeShow and Store.NodeUpdate. Locks nothing.
-- Plan: nodes_uuid_key and nodes_name_key, then keys.
-- name: NodeShow :one
SELECT
    node.id, node.uuid, node.name, node.driver, node.resource_class,
    node.provision_state, node.target_provision_state, node.provision_updated_at, node.power_state, node.target_power_state,
    node.maintenance, node.maintenance_reason, node.fault, node.instance_uuid, node.owner, node.lessee,
    node.protected, node.retired, node.conductor_group, node.last_error, node.revision, node.details,
    node.created_at, node.updated_at,
    ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = node.id ORDER BY present.trait)::text[] AS traits,
    -- none or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT held.uuid FROM node_allocations AS held WHERE held.node_id = node.id AND held.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM nodes AS node
WHERE node.uuid = sqlc.narg('node')::uuid OR node.name = sqlc.narg('name')::text;

-- A page of the nodes that pass the filters, in the order of their ids: those
-- after the marker, a node's uuid. An unknown marker has nothing after it.
-- Called by Store.NodeList, which sets lead. Locks nothing.
--
-- lead names the filter whose index finds the nodes; each branch of start has a
-- constant condition, so that in one prepared statement only one of them runs. The
-- other filters are asked of each node that comes out of it. Keep them the same as
-- those of NodeListSorted; a test compares the two. They stand in a CASE since the
-- planner takes each of them for so selective that it would never fill a page, and
-- sort all nodes rather than walk them in order; of a CASE it expects nothing.
-- Plan: nodes_instance_uuid_key, nodes_conductor_id_idx or nodes_free_idx; for
-- other filters a walk of nodes_pkey that ends when the page is full.
-- name: NodeList :many
SELECT
    node.id, node.uuid, node.name, node.driver, node.resource_class,
    node.provision_state, node.target_provision_state, node.provision_updated_at, node.power_state, node.target_power_state,
    node.maintenance, node.maintenance_reason, node.fault, node.instance_uuid, node.owner, node.lessee,
    node.protected, node.retired, node.conductor_group, node.last_error, node.revision, node.details,
    node.created_at, node.updated_at,
    ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = node.id ORDER BY present.trait)::text[] AS traits,
    -- none or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT held.uuid FROM node_allocations AS held WHERE held.node_id = node.id AND held.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM (
    -- Each in order, so that they are merged, not sorted.
    (SELECT one.id FROM nodes AS one
     WHERE @lead::text = 'instance' AND one.instance_uuid = sqlc.narg('instance')::uuid
     ORDER BY one.id)
    UNION ALL
    (SELECT one.id FROM nodes AS one
     WHERE @lead::text = 'conductor' AND one.conductor_id = (
        SELECT wanted.id FROM conductors AS wanted WHERE wanted.hostname = sqlc.narg('conductor')::text)
     ORDER BY one.id)
    UNION ALL
    (SELECT one.id FROM nodes AS one
     WHERE @lead::text = 'free' AND one.resource_class = sqlc.narg('resource_class')::text
       AND one.provision_state = 'available' AND one.instance_uuid IS NULL AND NOT one.maintenance
     ORDER BY one.id)
    UNION ALL
    (SELECT one.id FROM nodes AS one
     WHERE @lead::text = 'none'
       AND one.id > CASE
        WHEN sqlc.narg('marker')::uuid IS NULL THEN 0
        ELSE (SELECT last.id FROM nodes AS last WHERE last.uuid = sqlc.narg('marker')::uuid) END
     ORDER BY one.id)
) AS start
    -- OFFSET 0 keeps this a look-up by key: the planner takes start for as large as
    -- all its branches together, and would rather scan and hash.
CROSS JOIN LATERAL (
    SELECT
        one.id, one.uuid, one.name, one.driver, one.resource_class,
        one.provision_state, one.target_provision_state, one.provision_updated_at, one.power_state, one.target_power_state,
        one.maintenance, one.maintenance_reason, one.fault, one.instance_uuid, one.owner, one.lessee,
        one.protected, one.retired, one.conductor_group, one.last_error, one.revision, one.details,
        one.created_at, one.updated_at, one.conductor_id
    FROM nodes AS one WHERE one.id = start.id OFFSET 0
) AS node
WHERE (sqlc.narg('marker')::uuid IS NULL OR start.id > (
    SELECT last.id FROM nodes AS last WHERE last.uuid = sqlc.narg('marker')::uuid))
  AND CASE WHEN (
      (sqlc.narg('provision_state')::text IS NULL OR node.provision_state = sqlc.narg('provision_state')::text)
      AND (sqlc.narg('resource_class')::text IS NULL OR node.resource_class = sqlc.narg('resource_class')::text)
      AND (sqlc.narg('associated')::bool IS NULL OR (node.instance_uuid IS NOT NULL) = sqlc.narg('associated')::bool)
      AND (sqlc.narg('maintenance')::bool IS NULL OR node.maintenance = sqlc.narg('maintenance')::bool)
      AND (sqlc.narg('instance')::uuid IS NULL OR node.instance_uuid = sqlc.narg('instance')::uuid)
      AND (sqlc.narg('driver')::text IS NULL OR node.driver = sqlc.narg('driver')::text)
      AND (sqlc.narg('owner')::text IS NULL OR node.owner = sqlc.narg('owner')::text)
      AND (sqlc.narg('lessee')::text IS NULL OR node.lessee = sqlc.narg('lessee')::text)
      AND (sqlc.narg('conductor_group')::text IS NULL OR node.conductor_group = sqlc.narg('conductor_group')::text)
      AND (sqlc.narg('fault')::text IS NULL OR node.fault = sqlc.narg('fault')::text)
      AND (sqlc.narg('retired')::bool IS NULL OR node.retired = sqlc.narg('retired')::bool)
      AND (sqlc.narg('conductor')::text IS NULL OR node.conductor_id = (
            SELECT wanted.id FROM conductors AS wanted WHERE wanted.hostname = sqlc.narg('conductor')::text))
      AND (sqlc.narg('description_contains')::text IS NULL
           OR strpos(node.details ->> 'description', sqlc.narg('description_contains')::text) > 0)
      AND (sqlc.narg('chassis')::text IS NULL OR node.details ->> 'chassis_uuid' = sqlc.narg('chassis')::text)
      AND (sqlc.narg('shards')::text[] IS NULL OR node.details ->> 'shard' = ANY (sqlc.narg('shards')::text[]))
      AND (sqlc.narg('sharded')::bool IS NULL OR (node.details ->> 'shard' IS NOT NULL) = sqlc.narg('sharded')::bool)
  ) THEN true ELSE false END
ORDER BY start.id
LIMIT @page::int;

-- The same in any other order: by any column or member of details, null first,
-- then by id in the same direction. The marker's place is the one it has now.
-- Called by Store.NodeList. Locks nothing.
-- Plan: a scan of nodes and a sort of keys; then a page of keys.
-- name: NodeListSorted :many
WITH placed AS (
    SELECT one.id, one.uuid, COALESCE(CASE @sort_key::text
        WHEN 'uuid' THEN one.uuid::text
        WHEN 'name' THEN one.name
        WHEN 'driver' THEN one.driver
        WHEN 'resource_class' THEN one.resource_class
        WHEN 'provision_state' THEN one.provision_state
        WHEN 'target_provision_state' THEN one.target_provision_state
        WHEN 'provision_updated_at' THEN to_char(one.provision_updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'power_state' THEN one.power_state
        WHEN 'target_power_state' THEN one.target_power_state
        WHEN 'maintenance' THEN one.maintenance::text
        WHEN 'maintenance_reason' THEN one.maintenance_reason
        WHEN 'fault' THEN one.fault
        WHEN 'instance_uuid' THEN one.instance_uuid::text
        WHEN 'owner' THEN one.owner
        WHEN 'lessee' THEN one.lessee
        WHEN 'protected' THEN one.protected::text
        WHEN 'retired' THEN one.retired::text
        WHEN 'conductor_group' THEN one.conductor_group
        WHEN 'last_error' THEN one.last_error
        WHEN 'created_at' THEN to_char(one.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'updated_at' THEN to_char(one.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'id' THEN ''
        ELSE one.details ->> @sort_key::text
    END, '') COLLATE "C" AS place
    FROM nodes AS one
), last AS (
    SELECT placed.id, placed.place FROM placed WHERE placed.uuid = sqlc.narg('marker')::uuid
)
SELECT
    node.id, node.uuid, node.name, node.driver, node.resource_class,
    node.provision_state, node.target_provision_state, node.provision_updated_at, node.power_state, node.target_power_state,
    node.maintenance, node.maintenance_reason, node.fault, node.instance_uuid, node.owner, node.lessee,
    node.protected, node.retired, node.conductor_group, node.last_error, node.revision, node.details,
    node.created_at, node.updated_at,
    ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = node.id ORDER BY present.trait)::text[] AS traits,
    -- none or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT held.uuid FROM node_allocations AS held WHERE held.node_id = node.id AND held.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM placed
JOIN nodes AS node ON node.id = placed.id
WHERE (sqlc.narg('marker')::uuid IS NULL OR CASE
    WHEN @descending::bool THEN (placed.place, placed.id) < (SELECT last.place, last.id FROM last)
    ELSE (placed.place, placed.id) > (SELECT last.place, last.id FROM last) END)
  AND CASE WHEN (
      (sqlc.narg('provision_state')::text IS NULL OR node.provision_state = sqlc.narg('provision_state')::text)
      AND (sqlc.narg('resource_class')::text IS NULL OR node.resource_class = sqlc.narg('resource_class')::text)
      AND (sqlc.narg('associated')::bool IS NULL OR (node.instance_uuid IS NOT NULL) = sqlc.narg('associated')::bool)
      AND (sqlc.narg('maintenance')::bool IS NULL OR node.maintenance = sqlc.narg('maintenance')::bool)
      AND (sqlc.narg('instance')::uuid IS NULL OR node.instance_uuid = sqlc.narg('instance')::uuid)
      AND (sqlc.narg('driver')::text IS NULL OR node.driver = sqlc.narg('driver')::text)
      AND (sqlc.narg('owner')::text IS NULL OR node.owner = sqlc.narg('owner')::text)
      AND (sqlc.narg('lessee')::text IS NULL OR node.lessee = sqlc.narg('lessee')::text)
      AND (sqlc.narg('conductor_group')::text IS NULL OR node.conductor_group = sqlc.narg('conductor_group')::text)
      AND (sqlc.narg('fault')::text IS NULL OR node.fault = sqlc.narg('fault')::text)
      AND (sqlc.narg('retired')::bool IS NULL OR node.retired = sqlc.narg('retired')::bool)
      AND (sqlc.narg('conductor')::text IS NULL OR node.conductor_id = (
            SELECT wanted.id FROM conductors AS wanted WHERE wanted.hostname = sqlc.narg('conductor')::text))
      AND (sqlc.narg('description_contains')::text IS NULL
           OR strpos(node.details ->> 'description', sqlc.narg('description_contains')::text) > 0)
      AND (sqlc.narg('chassis')::text IS NULL OR node.details ->> 'chassis_uuid' = sqlc.narg('chassis')::text)
      AND (sqlc.narg('shards')::text[] IS NULL OR node.details ->> 'shard' = ANY (sqlc.narg('shards')::text[]))
      AND (sqlc.narg('sharded')::bool IS NULL OR (node.details ->> 'shard' IS NOT NULL) = sqlc.narg('sharded')::bool)
  ) THEN true ELSE false END
ORDER BY
    CASE WHEN NOT @descending::bool THEN placed.place END,
    CASE WHEN @descending::bool THEN placed.place END DESC,
    CASE WHEN @descending::bool THEN -placed.id ELSE placed.id END
LIMIT @page::int;

-- POST /v1/nodes. See the function.
-- name: NodeCreate :one
SELECT
    node.id, node.uuid, node.name, node.driver, node.resource_class,
    node.provision_state, node.target_provision_state, node.provision_updated_at, node.power_state, node.target_power_state,
    node.maintenance, node.maintenance_reason, node.fault, node.instance_uuid, node.owner, node.lessee,
    node.protected, node.retired, node.conductor_group, node.last_error, node.revision, node.details,
    node.created_at, node.updated_at,
    ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = node.id ORDER BY present.trait)::text[] AS traits,
    -- none or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT held.uuid FROM node_allocations AS held WHERE held.node_id = node.id AND held.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM node_create(@node::jsonb) AS node;

-- PATCH /v1/nodes/{ident}. See the function. The allocation is the one of before, unless it
-- went with the instance_uuid.
-- name: NodeUpdate :one
SELECT
    node.id, node.uuid, node.name, node.driver, node.resource_class,
    node.provision_state, node.target_provision_state, node.provision_updated_at, node.power_state, node.target_power_state,
    node.maintenance, node.maintenance_reason, node.fault, node.instance_uuid, node.owner, node.lessee,
    node.protected, node.retired, node.conductor_group, node.last_error, node.revision, node.details,
    node.created_at, node.updated_at,
    ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = node.id ORDER BY present.trait)::text[] AS traits,
    -- none or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT held.uuid FROM node_allocations AS held WHERE held.node_id = node.id AND held.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM node_update(@node::uuid, @revision::bigint, @given::jsonb) AS node;

-- A step of a node's way from state to state; no row where a guard doesn't hold.
-- See the function. The allocation is as in NodeUpdate.
-- name: NodeMove :one
SELECT
    node.id, node.uuid, node.name, node.driver, node.resource_class,
    node.provision_state, node.target_provision_state, node.provision_updated_at, node.power_state, node.target_power_state,
    node.maintenance, node.maintenance_reason, node.fault, node.instance_uuid, node.owner, node.lessee,
    node.protected, node.retired, node.conductor_group, node.last_error, node.revision, node.details,
    node.created_at, node.updated_at,
    ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = node.id ORDER BY present.trait)::text[] AS traits,
    -- none or one
    ARRAY(SELECT conductor.hostname FROM conductors AS conductor WHERE conductor.id = node.conductor_id)::text[] AS conductor,
    ARRAY(SELECT held.uuid FROM node_allocations AS held WHERE held.node_id = node.id AND held.uuid = node.instance_uuid)::uuid[] AS allocation_uuid
FROM node_move(
    sqlc.narg('node')::uuid, sqlc.narg('name')::text, @origins::text[], sqlc.narg('revision')::bigint, sqlc.narg('holder')::text,
    @state::text, sqlc.narg('target')::text, sqlc.narg('conductor')::text, sqlc.narg('last_error')::text,
    @set_power::bool, sqlc.narg('power_state')::text, sqlc.narg('target_power_state')::text, @tear_down::bool
) AS node;

-- DELETE /v1/nodes/{ident}. See the function.
-- name: NodeDelete :exec
SELECT node_delete(sqlc.narg('node')::uuid, sqlc.narg('name')::text);

-- PUT and DELETE /v1/nodes/{ident}/maintenance. The latter also forgets the reason
-- and the fault. Called by Store.NodeMaintenance; no row: no such node.
-- Locks: the node. Plan: nodes_uuid_key and nodes_name_key.
-- name: NodeMaintenance :execrows
UPDATE nodes SET
    maintenance = @maintenance::bool,
    maintenance_reason = CASE WHEN @maintenance::bool THEN sqlc.narg('reason')::text END,
    fault = CASE WHEN @maintenance::bool THEN fault END,
    revision = revision + 1, updated_at = now()
WHERE nodes.uuid = sqlc.narg('node')::uuid OR nodes.name = sqlc.narg('name')::text;

-- GET /v1/nodes/{ident}/traits; no row: no such node.
-- Called by Store.NodeTraitList. Locks nothing. Plan: keys, then node_traits_pkey.
-- name: NodeTraitList :one
SELECT
    ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = node.id ORDER BY present.trait)::text[] AS traits
FROM nodes AS node
WHERE node.uuid = sqlc.narg('node')::uuid OR node.name = sqlc.narg('name')::text;

-- PUT and DELETE /v1/nodes/{ident}/traits. See the function.
-- name: NodeTraitReplace :exec
SELECT node_traits_replace(sqlc.narg('node')::uuid, sqlc.narg('name')::text, @traits::text[]);

-- PUT /v1/nodes/{ident}/traits/{trait}. See the function.
-- name: NodeTraitAdd :exec
SELECT node_trait_add(sqlc.narg('node')::uuid, sqlc.narg('name')::text, @trait::text);

-- DELETE /v1/nodes/{ident}/traits/{trait}. See the function.
-- name: NodeTraitDelete :exec
SELECT node_trait_delete(sqlc.narg('node')::uuid, sqlc.narg('name')::text, @trait::text);
