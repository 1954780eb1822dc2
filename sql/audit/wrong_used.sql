-- Inventories whose column used is not the sum of their allocations.
SELECT coalesce(provider.uuid::text, ''), format('inventory of class %s on provider %s has used %s, but its allocations sum to %s',
    inventory.class_id, inventory.provider_id, inventory.used, coalesce(allocated.used, 0))
FROM inventories AS inventory
LEFT JOIN (
    SELECT allocation.provider_id, allocation.class_id, sum(allocation.used) AS used
    FROM allocations AS allocation GROUP BY allocation.provider_id, allocation.class_id
) AS allocated ON allocated.provider_id = inventory.provider_id AND allocated.class_id = inventory.class_id
LEFT JOIN resource_providers AS provider ON provider.id = inventory.provider_id
WHERE inventory.used <> coalesce(allocated.used, 0)
ORDER BY inventory.provider_id, inventory.class_id;
