-- Checks that a consumer may have a lease until a time; null: without such a time.
--
-- Raises PL080 (the time is not after now, or more than ten years ahead, by the clock of the database), PL081 (the consumer
-- has claimed a node for an allocation of the Bare Metal API). Locks nothing.
-- Plan: node_allocations_uuid_key; for a node allocation keys of its node.
CREATE OR REPLACE FUNCTION lease_check(p_consumer uuid, p_id bigint, p_until timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p_until <= clock_timestamp() OR p_until > clock_timestamp() + interval '10 years' THEN
        RAISE EXCEPTION 'until % is not in the next ten years', p_until USING ERRCODE = 'PL080',
            DETAIL = json_build_object('consumer', p_consumer, 'until', p_until, 'now', clock_timestamp());
    END IF;
    -- A consumer that has nothing on the node has the UUID of the node allocation by coincidence.
    IF EXISTS (
        SELECT /* lease_check 1/1 */ FROM node_allocations AS node_allocation
        JOIN nodes AS node ON node.id = node_allocation.node_id
        JOIN resource_providers AS provider ON provider.uuid = node.uuid
        JOIN allocations AS allocation ON allocation.consumer_id = p_id AND allocation.provider_id = provider.id
        WHERE node_allocation.uuid = p_consumer
    ) THEN
        RAISE EXCEPTION 'consumer % belongs to a node allocation', p_consumer USING ERRCODE = 'PL081',
            DETAIL = json_build_object('consumer', p_consumer);
    END IF;
END
$$;
