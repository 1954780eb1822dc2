-- Nodes on which a conductor may have something to do: those that it holds, and
-- those on their way that nobody holds and one of its drivers is for. The second
-- include nodes whose last step failed, which have a target too; states is what
-- tells them apart.
-- Called by Store.NodeWork: when a conductor begins, has not heard anything for a
-- while, or checks. Locks nothing.
-- Plan: nodes_conductor_id_idx, and nodes_work_idx, which holds the nodes with a
-- target only.
-- name: NodeWorkList :many
SELECT node.uuid FROM nodes AS node
WHERE node.conductor_id = (SELECT me.id FROM conductors AS me WHERE me.hostname = @hostname::text)
UNION ALL
SELECT node.uuid FROM nodes AS node
WHERE (node.target_provision_state IS NOT NULL OR node.target_power_state IS NOT NULL)
  AND node.conductor_id IS NULL
  AND (node.provision_state = ANY (@states::text[]) OR node.target_power_state IS NOT NULL)
  AND node.driver = ANY (@drivers::text[])
ORDER BY uuid;
