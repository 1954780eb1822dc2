-- A consumer as notes have it, without allocations and lease; null for null.
CREATE OR REPLACE FUNCTION history_consumer_object(p_consumer consumers) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT /* history_consumer_object 1/1 */ jsonb_build_object('consumer_generation', p_consumer.generation,
        'project_id', (SELECT project.external_id FROM projects AS project WHERE project.id = p_consumer.project_id),
        'user_id', (SELECT owner.external_id FROM users AS owner WHERE owner.id = p_consumer.user_id),
        'consumer_type', (SELECT type.name FROM consumer_types AS type WHERE type.id = p_consumer.consumer_type_id))
    WHERE p_consumer.id IS NOT NULL
$$;
