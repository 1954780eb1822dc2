-- Deletes a node's allocation, if it has one, together with its claim in Placement.
--
-- The caller clears the node's instance_uuid afterwards: that update may lock the node's provider, and the
-- lock order has consumers first. Claims of other consumers stay.
-- Locks: the allocation FOR UPDATE, then as allocation_delete_checked. The caller has locked the node. Idempotent.
-- Calls: allocation_delete_checked, if the allocation's consumer has claimed the node's unit.
CREATE OR REPLACE FUNCTION node_allocation_release(p_node bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked node_allocations;
BEGIN
    SELECT /* node_allocation_release 1/4 */ allocation.* INTO v_locked FROM node_allocations AS allocation
    WHERE allocation.node_id = p_node FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- This does not depend on the current backend: nodes may have been providers before. A consumer
    -- without an allocation on this node has the UUID by coincidence.
    IF EXISTS (
        SELECT /* node_allocation_release 2/4 */ FROM consumers AS consumer
        JOIN allocations AS claimed ON claimed.consumer_id = consumer.id
        JOIN resource_providers AS provider ON provider.id = claimed.provider_id
        JOIN nodes AS node ON node.uuid = provider.uuid
        WHERE consumer.uuid = v_locked.uuid AND node.id = p_node
    ) THEN
        PERFORM /* node_allocation_release 3/4 */ allocation_delete_checked(v_locked.uuid, NULL);
    END IF;
    DELETE /* node_allocation_release 4/4 */ FROM node_allocations WHERE id = v_locked.id;
END
$$;
