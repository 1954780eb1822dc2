-- Assigns a node to an allocation, or returns the reason why it cannot.
--
-- Null: the allocation has a node, or is no longer pending. A text: the stage that no node passes (see
-- node_allocation_failure_reason; empty if a consumer or an instance with its UUID is the reason), a colon,
-- a space, and the reason.
--
-- It tries the node with the name of the allocation, then nodes that match, from a random position to the
-- end and then from the start to that position, without waiting for locks. If other transactions had locked
-- some of them, it tries all matching nodes once more in the order of their ids and waits for each lock,
-- because the transaction that holds it may roll back. So every node that matches when this call begins is
-- assigned, by this call or by another one.
--
-- The set of nodes to try is small if the allocation names candidates or if one of its traits is rare. Then
-- it tries the candidates, or the nodes with the rarest trait if these are 256 or fewer. Otherwise it tries
-- the free nodes of the class.
--
-- PL050 and 23505 (nodes_instance_uuid_key) become reasons. Raises only 40001, if the setting whether nodes
-- are providers changed meanwhile.
-- Locks: as node_allocation_try_nodes, one node at a time. It releases the locks of a node that does not
-- match before it tries the next one.
-- Calls: node_allocation_required_traits, then node_allocation_try_nodes (up to four times: by name, from
-- the random position, up to it, waiting), then node_allocation_failure_reason.
-- Plan: nodes_uuid_key for candidates; for each trait up to 257 entries of node_traits_trait_idx; otherwise
-- one entry from each end of nodes_free_idx (see node_allocation_try_nodes for the comparison of the
-- class).
-- Cost: a few pages of nodes_free_idx, for any number of nodes. With common traits, with an owner, or if
-- many units are claimed through Placement: up to all free nodes of the class.
CREATE OR REPLACE FUNCTION node_allocation_decide(p_allocation node_allocations, p_unit int) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_named bigint := (SELECT /* node_allocation_decide 1/5 */ node.id FROM nodes AS node
        WHERE node.name = p_allocation.name);
    v_prefiltered bigint[];
    v_trait text;
    v_nodes bigint[];
    v_first bigint;
    v_last bigint := 9223372036854775807;
    v_before bigint;
    v_results text[] := '{}'::text[];
    v_constraint text;
BEGIN
    -- The only nodes that can match, if they are few.
    IF cardinality(p_allocation.candidate_nodes) > 0 THEN
        v_prefiltered := ARRAY(
            SELECT /* node_allocation_decide 2/5 */ node.id FROM nodes AS node
            WHERE node.uuid = ANY (p_allocation.candidate_nodes) ORDER BY node.id);
    ELSE
        FOREACH v_trait IN ARRAY node_allocation_required_traits(p_allocation.traits) LOOP
            v_nodes := ARRAY(
                SELECT /* node_allocation_decide 3/5 */ existing.node_id FROM node_traits AS existing
                WHERE existing.trait = v_trait
                ORDER BY existing.trait, existing.node_id LIMIT 257);
            IF cardinality(v_nodes) < least(cardinality(v_prefiltered), 257) THEN
                v_prefiltered := v_nodes;
            END IF;
        END LOOP;
    END IF;

    -- The random position: among these nodes, or between the first and the last free node of the class.
    IF v_prefiltered IS NOT NULL THEN
        v_before := v_prefiltered[1 + floor(random() * cardinality(v_prefiltered))::int] - 1;
    ELSE
        v_last := (
            SELECT /* node_allocation_decide 4/5 */ node.id FROM nodes AS node
            WHERE (node.resource_class, node.id) > (p_allocation.resource_class, 0)
              AND (node.resource_class, node.id) <= (p_allocation.resource_class, 9223372036854775807)
              AND node.provision_state = 'available' AND node.instance_uuid IS NULL
              AND NOT node.maintenance AND node.power_state IS NOT NULL
            ORDER BY node.resource_class DESC, node.id DESC
            LIMIT 1);
        v_first := (
            SELECT /* node_allocation_decide 5/5 */ node.id FROM nodes AS node
            WHERE (node.resource_class, node.id) > (p_allocation.resource_class, 0)
              AND (node.resource_class, node.id) <= (p_allocation.resource_class, v_last)
              AND node.provision_state = 'available' AND node.instance_uuid IS NULL
              AND NOT node.maintenance AND node.power_state IS NOT NULL
            ORDER BY node.resource_class, node.id
            LIMIT 1);
        v_before := v_first - 1 + floor(random() * (v_last - v_first + 1))::bigint;
    END IF;

    IF v_named IS NOT NULL THEN
        v_results := v_results || node_allocation_try_nodes(p_allocation, p_unit, ARRAY[v_named], 0, v_named, false);
    END IF;
    IF NOT v_results && '{done}' AND v_before IS NOT NULL THEN
        v_results := v_results || node_allocation_try_nodes(p_allocation, p_unit, v_prefiltered, v_before, v_last,
            false);
    END IF;
    IF NOT v_results && '{done}' AND v_before IS NOT NULL THEN
        v_results := v_results || node_allocation_try_nodes(p_allocation, p_unit, v_prefiltered, 0, v_before, false);
    END IF;
    -- The transactions that had locked nodes may have rolled back.
    IF NOT v_results && '{done}' AND v_results && '{locked}' THEN
        v_results := v_results || node_allocation_try_nodes(p_allocation, p_unit, v_prefiltered, 0, v_last, true);
    END IF;
    IF v_results && '{done}' THEN
        RETURN NULL;
    END IF;
    RETURN node_allocation_failure_reason(p_allocation, p_unit, p_allocation.extended);
EXCEPTION
    WHEN SQLSTATE 'PL050' THEN
        RETURN format(': Consumer %s has allocations in Placement already', p_allocation.uuid);
    WHEN unique_violation THEN
        GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
        IF v_constraint <> 'nodes_instance_uuid_key' THEN
            RAISE;
        END IF;
        RETURN format(': Unexpected exception during allocation: Instance %s is already associated with a node',
            p_allocation.uuid);
END
$$;
