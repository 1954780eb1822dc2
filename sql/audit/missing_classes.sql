-- Inventories of resource classes that do not exist.
SELECT coalesce(provider.uuid::text, ''), format('provider %s has inventory of class %s, which does not exist',
    inventory.provider_id, inventory.class_id)
FROM inventories AS inventory
LEFT JOIN resource_providers AS provider ON provider.id = inventory.provider_id
WHERE NOT EXISTS (SELECT FROM resource_classes AS class WHERE class.id = inventory.class_id)
ORDER BY inventory.provider_id, inventory.class_id;
