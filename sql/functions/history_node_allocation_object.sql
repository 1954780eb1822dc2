-- A node allocation as notes have it; null for null. A node without a row has its id in place of its UUID.
CREATE OR REPLACE FUNCTION history_node_allocation_object(p_allocation node_allocations) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT /* history_node_allocation_object 1/1 */ jsonb_build_object('name', p_allocation.name, 'state', p_allocation.state,
        'node_uuid', coalesce((SELECT to_jsonb(node.uuid) FROM nodes AS node WHERE node.id = p_allocation.node_id),
            to_jsonb(p_allocation.node_id)),
        'resource_class', p_allocation.resource_class, 'traits', p_allocation.traits, 'candidate_nodes', p_allocation.candidate_nodes,
        'extra', p_allocation.extra, 'owner', p_allocation.owner, 'last_error', p_allocation.last_error)
    WHERE p_allocation.id IS NOT NULL
$$;
