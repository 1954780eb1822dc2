-- Registers a conductor, or sets it online again.
-- Called by Store.ConductorRegister. Locks its row.
-- Plan: conductors_hostname_key.
-- name: ConductorRegister :exec
INSERT INTO conductors AS conductor (hostname, drivers) VALUES (@hostname::text, @drivers::text[])
ON CONFLICT (hostname) DO UPDATE SET drivers = excluded.drivers, online = true, updated_at = now();

-- Records a heartbeat. No row: the conductor never registered, or its row was deleted.
-- Called by Store.ConductorHeartbeat. Locks its row.
-- Plan: conductors_hostname_key.
-- name: ConductorHeartbeat :execrows
UPDATE conductors SET updated_at = now(), online = true WHERE hostname = @hostname::text;

-- Sets a conductor offline: other conductors may take over its work at once.
-- Called by Store.ConductorUnregister. Locks its row.
-- Plan: conductors_hostname_key.
-- name: ConductorUnregister :exec
UPDATE conductors SET online = false WHERE hostname = @hostname::text;

-- Returns all conductors, or the one with a hostname, with the seconds since the last heartbeat of
-- each.
-- Called by Store.ConductorList and Store.ConductorShow. Locks nothing.
-- Plan: a scan of conductors (a handful of rows).
-- name: ConductorList :many
SELECT conductor.hostname, conductor.conductor_group, conductor.drivers, conductor.online,
    conductor.created_at, conductor.updated_at,
    extract(epoch FROM clock_timestamp() - conductor.updated_at)::float8 AS heartbeat_age
FROM conductors AS conductor
WHERE sqlc.narg('hostname')::text IS NULL OR conductor.hostname = sqlc.narg('hostname')::text
ORDER BY conductor.hostname;

-- Takes over the work of dead conductors. See the function.
-- name: ConductorTakeOver :one
SELECT takeover.allocations::uuid[] AS allocations, takeover.nodes::uuid[] AS nodes
FROM conductor_take_over(@hostname::text, make_interval(secs => @heartbeat_timeout::float8)) AS takeover (allocations, nodes);
