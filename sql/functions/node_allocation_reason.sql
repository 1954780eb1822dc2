-- Why no node could be given, in the words that clients know.
--
-- Looks at the nodes as they are now. p_detailed: adds how many there are of the
-- class, and how many are left after each step. Locks nothing. Plan: nodes_free_idx;
-- p_detailed: a scan of nodes, for people who ask.
CREATE OR REPLACE FUNCTION node_allocation_reason(p_wanted node_allocations, p_unit int, p_detailed bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_any node_allocations := p_wanted;
    v_free bigint[] := ARRAY(
        SELECT node.id FROM nodes AS node
        WHERE node.resource_class = p_wanted.resource_class AND node.provision_state = 'available'
          AND node.instance_uuid IS NULL AND NOT node.maintenance AND node.power_state IS NOT NULL);
    v_allowed bigint[];
    v_fitting bigint[];
    v_reason text;
BEGIN
    v_any.traits := '{}';
    v_allowed := node_allocation_fits(v_any, NULL, v_free);
    v_fitting := node_allocation_fits(p_wanted, NULL, v_allowed);
    v_reason := CASE
        WHEN v_allowed = '{}' AND p_wanted.candidate_nodes = '{}' THEN
            format('no available nodes match the resource class %s', p_wanted.resource_class)
        WHEN v_allowed = '{}' THEN
            format('none of the requested nodes are available and match the resource class %s', p_wanted.resource_class)
        WHEN v_fitting = '{}' THEN
            format('no suitable nodes have the requested traits %s', array_to_string(p_wanted.traits, ', '))
        WHEN node_allocation_fits(p_wanted, p_unit, v_fitting) = '{}' THEN
            format('could not reserve any of %s suitable nodes', cardinality(v_fitting))
        ELSE 'all nodes were filtered out during reservation'
    END;
    IF NOT p_detailed THEN
        RETURN v_reason;
    END IF;
    RETURN format('%s (nodes of the class: %s; available, powered, without instance and maintenance: %s; '
        'of these allowed by owner and candidates: %s; with the traits: %s; not claimed through Placement: %s)',
        v_reason, (SELECT count(*) FROM nodes AS node WHERE node.resource_class = p_wanted.resource_class),
        cardinality(v_free), cardinality(v_allowed), cardinality(v_fitting),
        cardinality(node_allocation_fits(p_wanted, p_unit, v_fitting)));
END
$$;
