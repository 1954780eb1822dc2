-- The only nodes that can fit an allocation, where these are few; null: look
-- through the free nodes of the class.
--
-- The candidates that it names, or the nodes that have the rarest of its traits, if
-- these are 256 or fewer. Locks nothing. Plan: nodes_uuid_key; for each trait up to 257
-- entries of node_traits_trait_idx.
CREATE OR REPLACE FUNCTION node_allocation_few(p_wanted node_allocations) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_trait text;
    v_nodes bigint[];
    v_few bigint[];
BEGIN
    IF cardinality(p_wanted.candidate_nodes) > 0 THEN
        RETURN ARRAY(SELECT node.id FROM nodes AS node WHERE node.uuid = ANY (p_wanted.candidate_nodes) ORDER BY node.id);
    END IF;
    FOREACH v_trait IN ARRAY node_allocation_plain(p_wanted.traits) LOOP
        v_nodes := ARRAY(
            SELECT present.node_id FROM node_traits AS present WHERE present.trait = v_trait
            ORDER BY present.trait, present.node_id LIMIT 257);
        IF cardinality(v_nodes) < least(cardinality(v_few), 257) THEN
            v_few := v_nodes;
        END IF;
    END LOOP;
    RETURN v_few;
END
$$;
