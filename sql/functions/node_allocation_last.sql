-- The free node of a class with the highest id; null: none is free.
--
-- Locks nothing. Plan: one entry of nodes_free_idx; see node_allocation_page for how
-- the class is compared.
CREATE OR REPLACE FUNCTION node_allocation_last(p_class text) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT node.id FROM nodes AS node
        WHERE (node.resource_class, node.id) > (p_class, 0) AND (node.resource_class, node.id) <= (p_class, 9223372036854775807)
          AND node.provision_state = 'available' AND node.instance_uuid IS NULL
          AND NOT node.maintenance AND node.power_state IS NOT NULL
        ORDER BY node.resource_class DESC, node.id DESC
        LIMIT 1);
END
$$;
