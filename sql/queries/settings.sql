-- What a setting is for the connection that asks. Called by Store.Unset, once for
-- each planner setting when a server starts.
-- name: SettingShow :one
SELECT current_setting(@name::text)::text AS value;
