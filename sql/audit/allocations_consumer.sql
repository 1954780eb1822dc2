-- Allocations of consumers that do not exist.
SELECT coalesce(provider.uuid::text, ''), format('consumer %s has an allocation of class %s on provider %s and does not exist',
    allocation.consumer_id, allocation.class_id, allocation.provider_id)
FROM allocations AS allocation
LEFT JOIN resource_providers AS provider ON provider.id = allocation.provider_id
WHERE NOT EXISTS (SELECT FROM consumers AS consumer WHERE consumer.id = allocation.consumer_id)
ORDER BY allocation.consumer_id, allocation.provider_id, allocation.class_id;
