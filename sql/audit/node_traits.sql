-- Nodes with more traits than the API allows.
SELECT node.uuid::text, format('node %s has %s traits', node.id, count(*))
FROM nodes AS node JOIN node_traits AS present ON present.node_id = node.id
GROUP BY node.id HAVING count(*) > 50
ORDER BY node.id;
