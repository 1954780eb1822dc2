-- Consumers without allocations. A consumer exists exactly as long as it has allocations.
SELECT consumer.uuid::text, format('consumer %s has no allocations', consumer.id) FROM consumers AS consumer
WHERE NOT EXISTS (SELECT FROM allocations AS allocation WHERE allocation.consumer_id = consumer.id)
ORDER BY consumer.id;
