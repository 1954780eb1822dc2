-- Trees whose number of providers with an inventory of a class differs from the inventories.
SELECT coalesce(root.uuid::text, ''), format('tree %s has %s providers with inventory of class %s in tree_classes, but %s in inventories',
    coalesce(counted.root_id, tree.root_id), coalesce(tree.providers, 0), coalesce(counted.class_id, tree.class_id),
    coalesce(counted.providers, 0))
FROM tree_classes AS tree
FULL JOIN (
    SELECT inventory.root_id, inventory.class_id, count(*) AS providers
    FROM inventories AS inventory GROUP BY inventory.root_id, inventory.class_id
) AS counted ON counted.root_id = tree.root_id AND counted.class_id = tree.class_id
LEFT JOIN resource_providers AS root ON root.id = coalesce(counted.root_id, tree.root_id)
WHERE tree.providers IS DISTINCT FROM counted.providers
ORDER BY coalesce(counted.root_id, tree.root_id), coalesce(counted.class_id, tree.class_id);
