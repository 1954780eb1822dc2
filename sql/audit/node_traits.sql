-- Nodes with more traits than the API allows.
SELECT node.uuid::text, format('node %s has %s traits', node.id, count(*))
FROM nodes AS node JOIN node_traits AS node_trait ON node_trait.node_id = node.id
GROUP BY node.id HAVING count(*) > 50
ORDER BY node.id;
