-- Returns those of the given nodes that can be assigned to an allocation now, in the order of their ids.
--
-- p_unit: null if nodes are not providers; otherwise the id of the class of which each has a unit (-1:
-- there is none), and the unit must be free too. Called before a node is locked, and again afterwards: no
-- other function decides whether a node matches. Locks nothing.
-- Calls: node_allocation_required_traits, and node_allocation_unmet_traits for other expressions.
-- Plan: keys for each node. The subqueries are scalar, so that every plan uses index lookups.
CREATE OR REPLACE FUNCTION node_allocation_matching_nodes(p_allocation node_allocations, p_unit int,
    p_nodes bigint[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_plain text[] := node_allocation_required_traits(p_allocation.traits);
    v_traits bigint := (SELECT /* node_allocation_matching_nodes 1/2 */ count(DISTINCT requested.trait)
        FROM unnest(v_plain) AS requested (trait));
    v_others bool := cardinality(v_plain) < cardinality(p_allocation.traits);
BEGIN
    RETURN ARRAY(
        SELECT /* node_allocation_matching_nodes 2/2 */ node.id FROM nodes AS node
        WHERE node.id = ANY (p_nodes) AND node.resource_class = p_allocation.resource_class
          AND node.provision_state = 'available' AND node.instance_uuid IS NULL
          AND NOT node.maintenance AND node.power_state IS NOT NULL
          AND (p_allocation.candidate_nodes = '{}' OR node.uuid = ANY (p_allocation.candidate_nodes))
          AND (p_allocation.owner IS NULL OR node.owner = p_allocation.owner OR node.lessee = p_allocation.owner)
          AND (v_traits = 0 OR v_traits = (
                SELECT count(*) FROM node_traits AS existing
                WHERE existing.node_id = node.id AND existing.trait = ANY (v_plain)))
          AND (NOT v_others OR node_allocation_unmet_traits(node.id, p_allocation.traits) = '{}')
          AND (p_unit IS NULL OR 1 <= (
                SELECT unit.free FROM inventories AS unit
                WHERE unit.class_id = p_unit AND unit.provider_id = (
                    SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = node.uuid)))
        ORDER BY node.id);
END
$$;
