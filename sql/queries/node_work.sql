-- Returns the nodes with pending work for a conductor: those that it has reserved, and those without a
-- reservation that have a target and one of its drivers. The latter include nodes whose last
-- transition failed, because these have a target too; states excludes them.
-- Called by Store.NodeListPending: when a conductor starts, after a time without notifications, and at
-- each takeover check. Locks nothing.
-- Plan: nodes_conductor_id_idx, and nodes_work_idx, which contains only nodes with a target.
-- name: NodeListPending :many
SELECT node.uuid FROM nodes AS node
WHERE node.conductor_id = (SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = @hostname::text)
UNION ALL
SELECT node.uuid FROM nodes AS node
WHERE (node.target_provision_state IS NOT NULL OR node.target_power_state IS NOT NULL)
  AND node.conductor_id IS NULL
  AND (node.provision_state = ANY (@states::text[]) OR node.target_power_state IS NOT NULL)
  AND node.driver = ANY (@drivers::text[])
ORDER BY uuid;
