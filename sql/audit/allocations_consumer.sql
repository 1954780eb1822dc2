-- Allocations of consumers that do not exist.
SELECT coalesce(provider.uuid::text, ''), format('consumer %s uses class %s of provider %s and does not exist',
    taken.consumer_id, taken.class_id, taken.provider_id)
FROM allocations AS taken
LEFT JOIN resource_providers AS provider ON provider.id = taken.provider_id
WHERE NOT EXISTS (SELECT FROM consumers AS consumer WHERE consumer.id = taken.consumer_id)
ORDER BY taken.consumer_id, taken.provider_id, taken.class_id;
