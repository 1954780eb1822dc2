-- Allocations of a class that the provider does not have, and those whose provider
-- does not exist. Joins instead of NOT EXISTS: with OR between them, those would be
-- asked a row at a time.
SELECT coalesce(consumer.uuid::text, ''), CASE WHEN provider.id IS NULL
    THEN format('consumer %s uses class %s of provider %s, which does not exist', taken.consumer_id, taken.class_id, taken.provider_id)
    ELSE format('consumer %s uses class %s of provider %s, which has no inventory of it',
        taken.consumer_id, taken.class_id, taken.provider_id) END
FROM allocations AS taken
LEFT JOIN inventories AS inventory
    ON inventory.provider_id = taken.provider_id AND inventory.class_id = taken.class_id
LEFT JOIN resource_providers AS provider ON provider.id = taken.provider_id
LEFT JOIN consumers AS consumer ON consumer.id = taken.consumer_id
WHERE inventory.provider_id IS NULL OR provider.id IS NULL
ORDER BY taken.consumer_id, taken.provider_id, taken.class_id;
