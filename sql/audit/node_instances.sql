-- Nodes whose instance_uuid is not the UUID of their allocation.
SELECT node.uuid::text, format('node %s has instance %s, and allocation %s',
    node.id, coalesce(node.instance_uuid::text, 'none'), allocation.uuid)
FROM node_allocations AS allocation JOIN nodes AS node ON node.id = allocation.node_id
WHERE node.instance_uuid IS DISTINCT FROM allocation.uuid
ORDER BY node.id;
