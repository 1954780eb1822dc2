-- Which of these nodes an allocation could have now, in the order of their ids.
--
-- p_unit: see node_provider_unit; where nodes are providers, the unit must be free
-- too. Asked before a node is locked, and again afterwards: this is the one place
-- that says what fits. Locks nothing. Plan: keys for each node. The subqueries are
-- scalar so that they stay look-ups, in every plan.
CREATE OR REPLACE FUNCTION node_allocation_fits(p_wanted node_allocations, p_unit int, p_nodes bigint[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_plain text[] := node_allocation_plain(p_wanted.traits);
    v_traits bigint := (SELECT count(DISTINCT wanted.trait) FROM unnest(v_plain) AS wanted (trait));
    v_others bool := cardinality(v_plain) < cardinality(p_wanted.traits);
BEGIN
    RETURN ARRAY(
        SELECT node.id FROM nodes AS node
        WHERE node.id = ANY (p_nodes) AND node.resource_class = p_wanted.resource_class
          AND node.provision_state = 'available' AND node.instance_uuid IS NULL
          AND NOT node.maintenance AND node.power_state IS NOT NULL
          AND (p_wanted.candidate_nodes = '{}' OR node.uuid = ANY (p_wanted.candidate_nodes))
          AND (p_wanted.owner IS NULL OR node.owner = p_wanted.owner OR node.lessee = p_wanted.owner)
          AND (v_traits = 0 OR v_traits = (
                SELECT count(*) FROM node_traits AS present
                WHERE present.node_id = node.id AND present.trait = ANY (v_plain)))
          AND (NOT v_others OR node_allocation_lacking(node.id, p_wanted.traits) = '{}')
          AND (p_unit IS NULL OR 1 <= (
                SELECT unit.free FROM inventories AS unit
                WHERE unit.class_id = p_unit AND unit.provider_id = (
                    SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = node.uuid)))
        ORDER BY node.id);
END
$$;
