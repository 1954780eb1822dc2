-- A conductor begins to work, for the first time or again.
-- Called by Store.ConductorRegister. Locks its row.
-- Plan: conductors_hostname_key.
-- name: ConductorRegister :exec
INSERT INTO conductors AS present (hostname, drivers) VALUES (@hostname::text, @drivers::text[])
ON CONFLICT (hostname) DO UPDATE SET drivers = excluded.drivers, online = true, updated_at = now();

-- A sign of life. No row: it never registered, or was forgotten.
-- Called by Store.ConductorHeartbeat. Locks its row.
-- Plan: conductors_hostname_key.
-- name: ConductorHeartbeat :execrows
UPDATE conductors SET updated_at = now(), online = true WHERE hostname = @hostname::text;

-- A conductor works no more: others may take over at once.
-- Called by Store.ConductorLeave. Locks its row.
-- Plan: conductors_hostname_key.
-- name: ConductorLeave :exec
UPDATE conductors SET online = false WHERE hostname = @hostname::text;

-- All conductors, or the one with a hostname, and for how many seconds nothing was
-- heard of each.
-- Called by Store.ConductorList and Store.ConductorShow. Locks nothing.
-- Plan: a scan of conductors (a handful of rows).
-- name: ConductorList :many
SELECT conductor.hostname, conductor.conductor_group, conductor.drivers, conductor.online,
    conductor.created_at, conductor.updated_at,
    extract(epoch FROM clock_timestamp() - conductor.updated_at)::float8 AS silence
FROM conductors AS conductor
WHERE sqlc.narg('hostname')::text IS NULL OR conductor.hostname = sqlc.narg('hostname')::text
ORDER BY conductor.hostname;

-- Takes over from the dead. See the function.
-- name: ConductorTakeOver :one
SELECT taken.allocations::uuid[] AS allocations, taken.nodes::uuid[] AS nodes
FROM conductor_take_over(@hostname::text, make_interval(secs => @silence::float8)) AS taken (allocations, nodes);
