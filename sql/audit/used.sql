-- Inventories whose used is not the sum of the allocations.
SELECT coalesce(provider.uuid::text, ''), format('inventory of class %s on provider %s says that %s is used, and allocations say %s',
    inventory.class_id, inventory.provider_id, inventory.used, coalesce(taken.used, 0))
FROM inventories AS inventory
LEFT JOIN (
    SELECT allocation.provider_id, allocation.class_id, sum(allocation.used) AS used
    FROM allocations AS allocation GROUP BY allocation.provider_id, allocation.class_id
) AS taken ON taken.provider_id = inventory.provider_id AND taken.class_id = inventory.class_id
LEFT JOIN resource_providers AS provider ON provider.id = inventory.provider_id
WHERE inventory.used <> coalesce(taken.used, 0)
ORDER BY inventory.provider_id, inventory.class_id;
