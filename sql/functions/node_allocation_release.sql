-- Deletes a node's allocation, if it has one, with its claim in Placement.
--
-- The node's instance_uuid is the caller's to clear, and afterwards: that may lock
-- the node's provider, and consumers come before. Claims of others stay.
-- Locks: the allocation FOR UPDATE, then as allocation_delete. The caller holds the
-- node. Idempotent.
CREATE OR REPLACE FUNCTION node_allocation_release(p_node bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_held node_allocations;
BEGIN
    SELECT allocation.* INTO v_held FROM node_allocations AS allocation WHERE allocation.node_id = p_node FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- Whether or not nodes are providers now: they may have been. A consumer that has
    -- nothing of this node only happens to have the uuid.
    IF EXISTS (
        SELECT FROM consumers AS consumer
        JOIN allocations AS taken ON taken.consumer_id = consumer.id
        JOIN resource_providers AS provider ON provider.id = taken.provider_id
        JOIN nodes AS node ON node.uuid = provider.uuid
        WHERE consumer.uuid = v_held.uuid AND node.id = p_node
    ) THEN
        PERFORM allocation_delete(v_held.uuid);
    END IF;
    DELETE FROM node_allocations WHERE id = v_held.id;
END
$$;
