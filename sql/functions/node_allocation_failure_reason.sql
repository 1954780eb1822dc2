-- Returns why no node could be assigned, in the phrases that clients match.
--
-- Reads the current nodes. p_detailed: adds the number of nodes of the class, and the number that is left
-- after each filter. Locks nothing. Plan: nodes_free_idx;
-- p_detailed: a scan of nodes, only on request of a client.
CREATE OR REPLACE FUNCTION node_allocation_failure_reason(p_allocation node_allocations, p_unit int,
    p_detailed bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_any node_allocations := p_allocation;
    v_free bigint[] := ARRAY(
        SELECT /* node_allocation_failure_reason 1/2 */ node.id FROM nodes AS node
        WHERE node.resource_class = p_allocation.resource_class AND node.provision_state = 'available'
          AND node.instance_uuid IS NULL AND NOT node.maintenance AND node.power_state IS NOT NULL);
    v_allowed bigint[];
    v_fitting bigint[];
    v_reason text;
BEGIN
    v_any.traits := '{}';
    v_allowed := node_allocation_matching_nodes(v_any, NULL, v_free);
    v_fitting := node_allocation_matching_nodes(p_allocation, NULL, v_allowed);
    v_reason := CASE
        WHEN v_allowed = '{}' AND p_allocation.candidate_nodes = '{}' THEN
            format('no available nodes match the resource class %s', p_allocation.resource_class)
        WHEN v_allowed = '{}' THEN
            format('none of the requested nodes are available and match the resource class %s',
                p_allocation.resource_class)
        WHEN v_fitting = '{}' THEN
            format('no suitable nodes have the requested traits %s', array_to_string(p_allocation.traits, ', '))
        WHEN node_allocation_matching_nodes(p_allocation, p_unit, v_fitting) = '{}' THEN
            format('could not reserve any of %s suitable nodes', cardinality(v_fitting))
        ELSE 'all nodes were filtered out during reservation'
    END;
    IF NOT p_detailed THEN
        RETURN v_reason;
    END IF;
    RETURN format('%s (nodes of the class: %s; available, powered, without instance and maintenance: %s; '
        'of these allowed by owner and candidates: %s; with the traits: %s; not claimed through Placement: %s)',
        v_reason, (SELECT /* node_allocation_failure_reason 2/2 */ count(*) FROM nodes AS node
            WHERE node.resource_class = p_allocation.resource_class),
        cardinality(v_free), cardinality(v_allowed), cardinality(v_fitting),
        cardinality(node_allocation_matching_nodes(p_allocation, p_unit, v_fitting)));
END
$$;
