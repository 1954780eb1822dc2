-- Returns why no node could be assigned: the first stage that no node passes (class, busy, owner,
-- candidate_nodes, traits, claimed), a colon, a space, and the phrase that clients match. If other
-- transactions released nodes meanwhile, the stage is busy.
--
-- Reads the current nodes. p_detailed: adds the number of nodes of the class, and the number that is left
-- after each filter. Locks nothing. Plan: nodes_free_idx; without free nodes a scan of nodes up to the first
-- one of the class; p_detailed: a scan of nodes, only on request of a client.
CREATE OR REPLACE FUNCTION node_allocation_failure_reason(p_allocation node_allocations, p_unit int,
    p_detailed bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_any node_allocations := p_allocation;
    v_owned node_allocations := p_allocation;
    v_free bigint[] := ARRAY(
        SELECT /* node_allocation_failure_reason 1/3 */ node.id FROM nodes AS node
        WHERE node.resource_class = p_allocation.resource_class AND node.provision_state = 'available'
          AND node.instance_uuid IS NULL AND NOT node.maintenance AND node.power_state IS NOT NULL);
    v_allowed bigint[];
    v_fitting bigint[];
    v_unclaimed bigint[];
    v_stage text;
    v_reason text;
BEGIN
    v_any.traits := '{}';
    v_allowed := node_allocation_matching_nodes(v_any, NULL, v_free);
    v_owned.traits := '{}';
    v_owned.candidate_nodes := '{}';
    v_fitting := node_allocation_matching_nodes(p_allocation, NULL, v_allowed);
    v_unclaimed := node_allocation_matching_nodes(p_allocation, p_unit, v_fitting);
    v_stage := CASE
        WHEN v_free = '{}' AND EXISTS (SELECT /* node_allocation_failure_reason 2/3 */ FROM nodes AS node
            WHERE node.resource_class = p_allocation.resource_class) THEN 'busy'
        WHEN v_free = '{}' THEN 'class'
        WHEN v_allowed = '{}' AND node_allocation_matching_nodes(v_owned, NULL, v_free) = '{}' THEN 'owner'
        WHEN v_allowed = '{}' THEN 'candidate_nodes'
        WHEN v_fitting = '{}' THEN 'traits'
        WHEN v_unclaimed = '{}' THEN 'claimed'
        ELSE 'busy'
    END;
    v_reason := CASE
        WHEN v_allowed = '{}' AND p_allocation.candidate_nodes = '{}' THEN
            format('no available nodes match the resource class %s', p_allocation.resource_class)
        WHEN v_allowed = '{}' THEN
            format('none of the requested nodes are available and match the resource class %s',
                p_allocation.resource_class)
        WHEN v_fitting = '{}' THEN
            format('no suitable nodes have the requested traits %s', array_to_string(p_allocation.traits, ', '))
        WHEN v_unclaimed = '{}' THEN
            format('could not reserve any of %s suitable nodes', cardinality(v_fitting))
        ELSE 'all nodes were filtered out during reservation'
    END;
    IF NOT p_detailed THEN
        RETURN format('%s: %s', v_stage, v_reason);
    END IF;
    RETURN format('%s: %s (nodes of the class: %s; available, powered, without instance and maintenance: %s; '
        'of these allowed by owner and candidates: %s; with the traits: %s; not claimed through Placement: %s)',
        v_stage, v_reason, (SELECT /* node_allocation_failure_reason 3/3 */ count(*) FROM nodes AS node
            WHERE node.resource_class = p_allocation.resource_class),
        cardinality(v_free), cardinality(v_allowed), cardinality(v_fitting),
        cardinality(v_unclaimed));
END
$$;
