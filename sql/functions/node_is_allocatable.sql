-- Returns whether a node can be assigned, so that its unit is not reserved. Locks nothing.
CREATE OR REPLACE FUNCTION node_is_allocatable(p_node nodes) RETURNS bool
LANGUAGE sql IMMUTABLE AS $$
    SELECT /* node_is_allocatable 1/1 */ coalesce(p_node.provision_state = 'available'
        AND p_node.instance_uuid IS NULL AND NOT p_node.maintenance AND p_node.power_state <> 'error', false)
$$;
