-- Returns a parameter of this connection. Called by Pool.MissingPlannerSettings and Pool.Unlimited,
-- once for each parameter when a server starts.
-- name: SettingShow :one
SELECT current_setting(@name::text)::text AS value;

-- Removes the timeouts of requests until the end of the transaction, for the work of a server at its
-- start. Called by Store.SetBaremetalBackend.
-- Locks: none. Plan: no table.
-- name: LimitsLift :exec
SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true);
