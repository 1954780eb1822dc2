-- Returns one port with the UUID of its node. Called by Store.PortShow and Store.PortUpdate.
-- Locks nothing. Plan: ports_uuid_key, nodes_pkey.
-- name: PortShow :one
SELECT
    port.id, port.uuid, node.uuid AS node_uuid, port.address, port.revision, port.details, port.created_at, port.updated_at
FROM ports AS port
JOIN nodes AS node ON node.id = port.node_id
WHERE port.uuid = @port::uuid;

-- Returns a page of the ports that pass the filters, in the order of their ids, starting after the
-- marker, a port's UUID. After an unknown marker there are no ports.
-- Called by Store.PortList, which sets leading_filter. Locks nothing.
--
-- leading_filter names the filter whose index finds the ports. It and the CASE work as in NodeList.
-- Plan: ports_node_id_idx or ports_address_key; otherwise a walk of ports_pkey that ends when the page
-- is full.
-- name: PortList :many
SELECT
    port.id, port.uuid, node.uuid AS node_uuid, port.address, port.revision, port.details, port.created_at, port.updated_at
FROM (
    -- Each branch is sorted, so that PostgreSQL merges them instead of sorting.
    (SELECT listed.id FROM ports AS listed
     WHERE @leading_filter::text = 'node' AND listed.node_id = (
        SELECT node.id FROM nodes AS node
        WHERE node.uuid = sqlc.narg('node')::uuid OR node.name = sqlc.narg('node_name')::text)
     ORDER BY listed.id)
    UNION ALL
    (SELECT listed.id FROM ports AS listed
     WHERE @leading_filter::text = 'address' AND listed.address = sqlc.narg('address')::text
     ORDER BY listed.id)
    UNION ALL
    (SELECT listed.id FROM ports AS listed
     WHERE @leading_filter::text = 'none'
       AND listed.id > CASE
        WHEN sqlc.narg('marker')::uuid IS NULL THEN 0
        ELSE (SELECT marker.id FROM ports AS marker WHERE marker.uuid = sqlc.narg('marker')::uuid) END
     ORDER BY listed.id)
) AS start
    -- OFFSET 0 forces index lookups, as in NodeList.
CROSS JOIN LATERAL (
    SELECT listed.id, listed.uuid, listed.node_id, listed.address, listed.revision, listed.details, listed.created_at, listed.updated_at
    FROM ports AS listed WHERE listed.id = start.id OFFSET 0
) AS port
CROSS JOIN LATERAL (SELECT owning.uuid, owning.owner, owning.lessee FROM nodes AS owning WHERE owning.id = port.node_id OFFSET 0) AS node
WHERE CASE WHEN sqlc.narg('address')::text IS NULL OR port.address = sqlc.narg('address')::text THEN true ELSE false END
  AND CASE WHEN sqlc.narg('project')::text IS NULL OR node.owner = sqlc.narg('project')::text OR node.lessee = sqlc.narg('project')::text
      THEN true ELSE false END
  AND (sqlc.narg('marker')::uuid IS NULL OR port.id > (
    SELECT marker.id FROM ports AS marker WHERE marker.uuid = sqlc.narg('marker')::uuid))
ORDER BY start.id
LIMIT @page::int;

-- PortList in any other order: by any column or member of details, null first, then by id in the same
-- direction. Called by Store.PortList. Locks nothing.
-- Plan: a scan of ports and a sort of keys; then a page of keys.
-- name: PortListSorted :many
WITH sorted AS (
    SELECT listed.id, listed.uuid, COALESCE(CASE @sort_key::text
        WHEN 'uuid' THEN listed.uuid::text
        WHEN 'address' THEN listed.address
        WHEN 'created_at' THEN to_char(listed.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'updated_at' THEN to_char(listed.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
        WHEN 'id' THEN ''
        ELSE listed.details ->> @sort_key::text
    END, '') COLLATE "C" AS sort_value
    FROM ports AS listed
), marker_row AS (
    SELECT sorted.id, sorted.sort_value FROM sorted WHERE sorted.uuid = sqlc.narg('marker')::uuid
)
SELECT
    port.id, port.uuid, node.uuid AS node_uuid, port.address, port.revision, port.details, port.created_at, port.updated_at
FROM sorted
JOIN ports AS port ON port.id = sorted.id
JOIN nodes AS node ON node.id = port.node_id
WHERE (sqlc.narg('marker')::uuid IS NULL OR CASE
    WHEN @descending::bool THEN (sorted.sort_value, sorted.id) < (SELECT marker_row.sort_value, marker_row.id FROM marker_row)
    ELSE (sorted.sort_value, sorted.id) > (SELECT marker_row.sort_value, marker_row.id FROM marker_row) END)
  AND (NOT @of_node::bool OR node.uuid = sqlc.narg('node')::uuid OR node.name = sqlc.narg('node_name')::text)
  AND (sqlc.narg('address')::text IS NULL OR port.address = sqlc.narg('address')::text)
  AND (sqlc.narg('project')::text IS NULL OR node.owner = sqlc.narg('project')::text OR node.lessee = sqlc.narg('project')::text)
ORDER BY
    CASE WHEN NOT @descending::bool THEN sorted.sort_value END,
    CASE WHEN @descending::bool THEN sorted.sort_value END DESC,
    CASE WHEN @descending::bool THEN -sorted.id ELSE sorted.id END
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
