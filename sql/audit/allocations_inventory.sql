-- Allocations of a class of which the provider has no inventory, or whose provider does not exist. It
-- uses joins, because PostgreSQL executes NOT EXISTS subqueries that are combined with OR once per row.
SELECT coalesce(consumer.uuid::text, ''), CASE WHEN provider.id IS NULL
    THEN format('consumer %s has an allocation of class %s on provider %s, which does not exist',
        allocation.consumer_id, allocation.class_id, allocation.provider_id)
    ELSE format('consumer %s has an allocation of class %s on provider %s, which has no inventory of it',
        allocation.consumer_id, allocation.class_id, allocation.provider_id) END
FROM allocations AS allocation
LEFT JOIN inventories AS inventory
    ON inventory.provider_id = allocation.provider_id AND inventory.class_id = allocation.class_id
LEFT JOIN resource_providers AS provider ON provider.id = allocation.provider_id
LEFT JOIN consumers AS consumer ON consumer.id = allocation.consumer_id
WHERE inventory.provider_id IS NULL OR provider.id IS NULL
ORDER BY allocation.consumer_id, allocation.provider_id, allocation.class_id;
