-- One port, and whose it is. Called by Store.PortShow and Store.PortUpdate.
-- Locks nothing. Plan: ports_uuid_key, nodes_pkey.
-- name: PortShow :one
SELECT
    port.id, port.uuid, node.uuid AS node_uuid, port.address, port.revision, port.details, port.created_at, port.updated_at
FROM ports AS port
JOIN nodes AS node ON node.id = port.node_id
WHERE port.uuid = @port::uuid;

-- A page of the ports that pass the filters, in the order of their ids: those
-- after the marker, a port's uuid. An unknown marker has nothing after it.
-- Called by Store.PortList, which sets lead. Locks nothing.
--
-- lead names the filter whose index finds the ports, and the CASE is there, as in
-- NodeList.
-- Plan: ports_node_id_idx or ports_address_key; else a walk of ports_pkey that ends
-- when the page is full.
-- name: PortList :many
SELECT
    port.id, port.uuid, node.uuid AS node_uuid, port.address, port.revision, port.details, port.created_at, port.updated_at
FROM (
    -- Each in order, so that they are merged, not sorted.
    (SELECT one.id FROM ports AS one
     WHERE @lead::text = 'node' AND one.node_id = (
        SELECT wanted.id FROM nodes AS wanted
        WHERE wanted.uuid = sqlc.narg('node')::uuid OR wanted.name = sqlc.narg('node_name')::text)
     ORDER BY one.id)
    UNION ALL
    (SELECT one.id FROM ports AS one
     WHERE @lead::text = 'address' AND one.address = sqlc.narg('address')::text
     ORDER BY one.id)
    UNION ALL
    (SELECT one.id FROM ports AS one
     WHERE @lead::text = 'none'
       AND one.id > CASE
        WHEN sqlc.narg('marker')::uuid IS NULL THEN 0
        ELSE (SELECT last.id FROM ports AS last WHERE last.uuid = sqlc.narg('marker')::uuid) END
     ORDER BY one.id)
) AS start
    -- OFFSET 0 keeps these look-ups by key, as in NodeList.
CROSS JOIN LATERAL (
    SELECT one.id, one.uuid, one.node_id, one.address, one.revision, one.details, one.created_at, one.updated_at
    FROM ports AS one WHERE one.id = start.id OFFSET 0
) AS port
CROSS JOIN LATERAL (SELECT one.uuid FROM nodes AS one WHERE one.id = port.node_id OFFSET 0) AS node
WHERE CASE WHEN sqlc.narg('address')::text IS NULL OR port.address = sqlc.narg('address')::text THEN true ELSE false END
  AND (sqlc.narg('marker')::uuid IS NULL OR port.id > (
    SELECT last.id FROM ports AS last WHERE last.uuid = sqlc.narg('marker')::uuid))
ORDER BY start.id
LIMIT @page::int;

-- The same in any other order: by any column or member of details, null first,
-- then by id in the same direction. Called by Store.PortList. Locks nothing.
-- Plan: a scan of ports and a sort of keys; then a page of keys.
-- name: PortListSorted :many
WITH placed AS (
    SELECT one.id, one.uuid, COALESCE(CASE @sort_key::text
        WHEN 'uuid' THEN one.uuid::text
        WHEN 'address' THEN one.address
        WHEN 'created_at' THEN to_char(one.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'updated_at' THEN to_char(one.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'id' THEN ''
        ELSE one.details ->> @sort_key::text
    END, '') COLLATE "C" AS place
    FROM ports AS one
), last AS (
    SELECT placed.id, placed.place FROM placed WHERE placed.uuid = sqlc.narg('marker')::uuid
)
SELECT
    port.id, port.uuid, node.uuid AS node_uuid, port.address, port.revision, port.details, port.created_at, port.updated_at
FROM placed
JOIN ports AS port ON port.id = placed.id
JOIN nodes AS node ON node.id = port.node_id
WHERE (sqlc.narg('marker')::uuid IS NULL OR CASE
    WHEN @descending::bool THEN (placed.place, placed.id) < (SELECT last.place, last.id FROM last)
    ELSE (placed.place, placed.id) > (SELECT last.place, last.id FROM last) END)
  AND (NOT @of_node::bool OR node.uuid = sqlc.narg('node')::uuid OR node.name = sqlc.narg('node_name')::text)
  AND (sqlc.narg('address')::text IS NULL OR port.address = sqlc.narg('address')::text)
ORDER BY
    CASE WHEN NOT @descending::bool THEN placed.place END,
    CASE WHEN @descending::bool THEN placed.place END DESC,
    CASE WHEN @descending::bool THEN -placed.id ELSE placed.id END
LIMIT @page::int;

-- POST /v1/ports. See the function.
-- name: PortCreate :one
SELECT
    port.id, port.uuid, @node::uuid AS node_uuid, port.address, port.revision, port.details, port.created_at, port.updated_at
FROM port_create(@port::uuid, @node::uuid, @address::text, @details::jsonb) AS port;

-- PATCH /v1/ports/{uuid}. See the function.
-- name: PortUpdate :one
SELECT
    port.id, port.uuid, @node::uuid AS node_uuid, port.address, port.revision, port.details, port.created_at, port.updated_at
FROM port_update(@port::uuid, @revision::bigint, @node::uuid, @address::text, @details::jsonb) AS port;

-- DELETE /v1/ports/{uuid}; no row: no such port. Called by Store.PortDelete.
-- Locks: the port. Plan: ports_uuid_key.
-- name: PortDelete :execrows
DELETE FROM ports WHERE ports.uuid = @port::uuid;
