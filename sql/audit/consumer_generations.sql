-- Consumers with a generation below 1, the first one.
SELECT consumer.uuid::text, format('consumer %s has generation %s', consumer.id, consumer.generation)
FROM consumers AS consumer WHERE consumer.generation < 1
ORDER BY consumer.id;
