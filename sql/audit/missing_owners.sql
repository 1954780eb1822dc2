-- Consumers whose project, user or type does not exist.
SELECT consumer.uuid::text, format('consumer %s has project %s, user %s and type %s, and one of them does not exist',
    consumer.id, consumer.project_id, consumer.user_id, coalesce(consumer.consumer_type_id::text, 'none'))
FROM consumers AS consumer
WHERE NOT EXISTS (SELECT FROM projects AS project WHERE project.id = consumer.project_id)
   OR NOT EXISTS (SELECT FROM users AS owner WHERE owner.id = consumer.user_id)
   OR consumer.consumer_type_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM consumer_types AS type WHERE type.id = consumer.consumer_type_id)
ORDER BY consumer.id;
