-- Assigns a node to an allocation, and sets the allocation to active.
--
-- Raises 23505 (nodes_instance_uuid_key). The caller has locked both.
CREATE OR REPLACE FUNCTION node_allocation_assign(p_allocation node_allocations, p_node bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE /* node_allocation_assign 1/2 */ nodes AS node SET
        instance_uuid = p_allocation.uuid,
        details = node.details || jsonb_build_object('instance_info',
            CASE WHEN jsonb_typeof(node.details -> 'instance_info') = 'object'
                THEN node.details -> 'instance_info' ELSE '{}' END
            || jsonb_build_object('traits', node_allocation_required_traits(p_allocation.traits))),
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = p_node;
    UPDATE /* node_allocation_assign 2/2 */ node_allocations
        SET node_id = p_node, state = 'active', conductor_id = NULL, last_error = NULL,
        revision = revision + 1, updated_at = now()
    WHERE id = p_allocation.id;
END
$$;
