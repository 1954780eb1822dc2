DELETE FROM consumers AS consumer
WHERE NOT EXISTS (SELECT FROM allocations AS allocation WHERE allocation.consumer_id = consumer.id);
