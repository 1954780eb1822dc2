-- Returns a parameter of this connection. Called by Pool.MissingPlannerSettings and Pool.Unlimited,
-- once for each parameter when a server starts.
-- name: SettingShow :one
SELECT current_setting(@name::text)::text AS value;

-- Removes the timeouts of requests until the end of the transaction, for the work of a server at its
-- start. Called by Store.SetBaremetalBackend.
-- Locks: none. Plan: no table.
-- name: LimitsLift :exec
SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true);

-- Returns the role, the database, the schema in which unqualified names are created ('' for none), and the parameters of
-- this connection ('' for one that the server does not have), in the order of the names. Called by session.Read for
-- each readiness probe, and when a connection for maintenance or a pool is opened.
-- Locks: none. Plan: no table.
-- name: SettingList :one
SELECT current_user::text AS role, current_database()::text AS database, COALESCE(current_schema(), '')::text AS schema,
       ARRAY(SELECT COALESCE(current_setting(wanted.name, true), '')
             FROM unnest(@names::text[]) WITH ORDINALITY AS wanted (name, place) ORDER BY wanted.place)::text[] AS values;
