-- Nodes of a class that are free, with an id above p_after and up to p_to: the first
-- 16, in the order of their ids.
--
-- Locks nothing. Plan: a range of nodes_free_idx. The class is compared together with
-- the id, and not by itself, because the planner would then know it to be constant, and
-- walk all nodes in the order of their ids instead: fast where most are free, and a
-- scan of all for the last ones.
CREATE OR REPLACE FUNCTION node_allocation_page(p_class text, p_after bigint, p_to bigint) RETURNS bigint[]
LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY(
        SELECT node.id FROM nodes AS node
        WHERE (node.resource_class, node.id) > (p_class, p_after) AND (node.resource_class, node.id) <= (p_class, p_to)
          AND node.provision_state = 'available' AND node.instance_uuid IS NULL
          AND NOT node.maintenance AND node.power_state IS NOT NULL
        ORDER BY node.resource_class, node.id
        LIMIT 16);
END
$$;
