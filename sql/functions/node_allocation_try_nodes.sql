-- Tries to assign nodes with an id above p_after and up to p_to, in the order of their ids:
-- p_prefiltered, or the free ones of the class, in pages of 16.
--
-- Returns "done": it assigned one, or the allocation is no longer pending (deleted or taken over);
-- "locked": it assigned none, and other transactions had locked matching nodes (never with p_wait); "none":
-- no node matches.
-- Continues with the next node after no_data_found (the node no longer matches), PL009, PL010 and PL012
-- (its unit is deleted or claimed). Raises what else node_provider_claim raises, 23505
-- (nodes_instance_uuid_key), and 40001 if the setting whether nodes are providers changed since the caller
-- determined p_unit.
-- Locks, one node at a time: the node FOR UPDATE, the allocation FOR UPDATE, then as node_provider_claim.
-- Each try is a subtransaction, since its failure must release its locks: waiting for a node while another
-- one is locked causes deadlocks.
-- Calls, for each page: node_allocation_matching_nodes; for each node: node_allocation_matching_nodes once
-- more when it is locked, node_provider_claim (if nodes are providers), node_allocation_assign.
-- Plan: a range of nodes_free_idx. The condition compares the class and the id as a row. With a condition
-- on the class alone the planner knows it to be constant, and scans nodes_pkey instead: that is fast while
-- most nodes are free, and a scan of all nodes for the last free ones.
CREATE OR REPLACE FUNCTION node_allocation_try_nodes(
    p_allocation node_allocations, p_unit int, p_prefiltered bigint[], p_after bigint, p_to bigint, p_wait bool
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_after bigint := p_after;
    v_page bigint[];
    v_node bigint;
    v_result text := 'none';
BEGIN
    LOOP
        IF p_prefiltered IS NOT NULL THEN
            v_page := ARRAY(
                SELECT /* node_allocation_try_nodes 1/8 */ prefiltered.id FROM unnest(p_prefiltered) AS prefiltered (id)
                WHERE prefiltered.id > p_after AND prefiltered.id <= p_to);
        ELSE
            v_page := ARRAY(
                SELECT /* node_allocation_try_nodes 2/8 */ node.id FROM nodes AS node
                WHERE (node.resource_class, node.id) > (p_allocation.resource_class, v_after)
                  AND (node.resource_class, node.id) <= (p_allocation.resource_class, p_to)
                  AND node.provision_state = 'available' AND node.instance_uuid IS NULL
                  AND NOT node.maintenance AND node.power_state IS NOT NULL
                ORDER BY node.resource_class, node.id
                LIMIT 16);
        END IF;
        FOREACH v_node IN ARRAY node_allocation_matching_nodes(p_allocation, p_unit, v_page) LOOP
            BEGIN
                IF p_wait THEN
                    PERFORM /* node_allocation_try_nodes 3/8 */ FROM nodes AS node WHERE node.id = v_node FOR UPDATE;
                ELSE
                    PERFORM /* node_allocation_try_nodes 4/8 */ FROM nodes AS node
                    WHERE node.id = v_node FOR UPDATE SKIP LOCKED;
                    IF NOT FOUND THEN
                        v_result := 'locked';
                        CONTINUE;
                    END IF;
                END IF;
                IF (SELECT /* node_allocation_try_nodes 5/8 */ backend.placement
                    FROM baremetal_backend AS backend) <> (p_unit IS NOT NULL) THEN
                    RAISE EXCEPTION 'the backend was changed concurrently' USING ERRCODE = '40001';
                END IF;
                IF node_allocation_matching_nodes(p_allocation, p_unit, ARRAY[v_node]) = '{}' THEN
                    RAISE no_data_found;
                END IF;
                PERFORM /* node_allocation_try_nodes 6/8 */ FROM node_allocations AS allocation
                WHERE allocation.id = p_allocation.id AND allocation.state = 'allocating'
                  AND allocation.conductor_id = p_allocation.conductor_id
                FOR UPDATE;
                IF FOUND THEN
                    IF p_unit IS NOT NULL THEN
                        PERFORM /* node_allocation_try_nodes 7/8 */ node_provider_claim(p_allocation, v_node, false);
                    END IF;
                    PERFORM /* node_allocation_try_nodes 8/8 */ node_allocation_assign(p_allocation, v_node);
                END IF;
                RETURN 'done';
            EXCEPTION
                WHEN no_data_found OR SQLSTATE 'PL009' OR SQLSTATE 'PL010' OR SQLSTATE 'PL012' THEN NULL;
            END;
        END LOOP;
        EXIT WHEN p_prefiltered IS NOT NULL OR cardinality(v_page) < 16;
        v_after := v_page[16];
    END LOOP;
    RETURN v_result;
END
$$;
