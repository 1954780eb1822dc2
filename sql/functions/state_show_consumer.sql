-- Returns a consumer with its allocations, as state_show does; no row: it does not exist.
--
-- Locks nothing. Plan: consumers_pkey, then a range of allocations_pkey.
CREATE OR REPLACE FUNCTION state_show_consumer(p_consumer bigint) RETURNS TABLE (uuid uuid, state jsonb)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY SELECT /* state_show_consumer 1/1 */ consumer.uuid, jsonb_build_object(
        'generation', consumer.generation, 'project_id', project.external_id, 'user_id', owner.external_id,
        'type', type.name,
        'allocations', (SELECT coalesce(jsonb_object_agg(held.provider, held.amounts), '{}') FROM (
            SELECT provider.uuid AS provider, jsonb_object_agg(class.name, allocation.used) AS amounts
            FROM allocations AS allocation
            JOIN resource_providers AS provider ON provider.id = allocation.provider_id
            JOIN resource_classes AS class ON class.id = allocation.class_id
            WHERE allocation.consumer_id = p_consumer
            GROUP BY provider.uuid) AS held))
    FROM consumers AS consumer
    JOIN projects AS project ON project.id = consumer.project_id
    JOIN users AS owner ON owner.id = consumer.user_id
    LEFT JOIN consumer_types AS type ON type.id = consumer.consumer_type_id
    WHERE consumer.id = p_consumer;
END
$$;
