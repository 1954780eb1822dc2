-- Returns all allocations of consumers, in the order of p_consumers and then of the allocations, with the generations of
-- the consumer and of the provider.
--
-- shown_place is the consumer's position, from 1. Locks nothing.
-- Plan: consumers_pkey, then allocations_pkey and primary keys.
CREATE OR REPLACE FUNCTION claim_show(p_consumers bigint[]) RETURNS TABLE (
    shown_place int, shown_generation bigint, shown_provider uuid, shown_provider_generation bigint, shown_class text,
    shown_used bigint
)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT /* claim_show 1/1 */ array_position(p_consumers, consumer.id), consumer.generation, provider.uuid,
        generation_row.generation, class.name, allocation.used
    FROM consumers AS consumer
    JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
    JOIN resource_providers AS provider ON provider.id = allocation.provider_id
    JOIN provider_generations AS generation_row ON generation_row.provider_id = allocation.provider_id
    JOIN resource_classes AS class ON class.id = allocation.class_id
    WHERE consumer.id = ANY (p_consumers)
    ORDER BY 1, allocation.id;
END
$$;
