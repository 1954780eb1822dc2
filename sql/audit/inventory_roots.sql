-- Inventories whose root_id is not that of their provider's tree. As with providers,
-- loops and what is below nothing are not looked at.
WITH RECURSIVE downward AS (
    SELECT root.id, root.id AS topmost FROM resource_providers AS root WHERE root.parent_id IS NULL
    UNION ALL
    SELECT child.id, above.topmost FROM downward AS above JOIN resource_providers AS child ON child.parent_id = above.id
)
SELECT provider.uuid::text, format('inventory of class %s on provider %s has root %s, not %s',
    inventory.class_id, inventory.provider_id, inventory.root_id, downward.topmost)
FROM inventories AS inventory
JOIN downward ON downward.id = inventory.provider_id
JOIN resource_providers AS provider ON provider.id = inventory.provider_id
WHERE inventory.root_id <> downward.topmost
ORDER BY inventory.provider_id, inventory.class_id;
