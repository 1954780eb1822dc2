-- Whether a node that is in use may get an allocation afterwards.
--
-- p_node as the caller holds it, p_ident as the request calls it; p_uuid null: the
-- allocation will have the node's instance_uuid; p_class null: whichever the node has.
-- Raises, in this order: PL030 (no such node), PL032 (it is another instance's),
-- PL046 (it is not active), PL047 (not of this class), PL048 (it lacks traits,
-- named), PL049 (it is not among the candidates). Locks nothing.
CREATE OR REPLACE FUNCTION node_allocation_backfill(
    p_node nodes, p_ident text, p_uuid uuid, p_class text, p_traits text[], p_candidates uuid[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_lacking text[] := node_allocation_lacking(p_node.id, p_traits);
    v_rule text := CASE
        WHEN p_node.id IS NULL THEN 'PL030'
        WHEN p_node.instance_uuid <> p_uuid THEN 'PL032'
        WHEN p_node.provision_state <> 'active' THEN 'PL046'
        WHEN p_node.resource_class IS DISTINCT FROM coalesce(p_class, p_node.resource_class) THEN 'PL047'
        WHEN cardinality(v_lacking) > 0 THEN 'PL048'
        WHEN cardinality(p_candidates) > 0 AND p_node.uuid <> ALL (p_candidates) THEN 'PL049'
    END;
BEGIN
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'node % cannot be backfilled', p_ident USING ERRCODE = v_rule,
            DETAIL = json_build_object('node', coalesce(p_node.uuid::text, p_ident), 'state', p_node.provision_state,
                'instance', p_node.instance_uuid, 'class', p_node.resource_class, 'traits', array_to_string(v_lacking, ', '),
                'allocation', p_uuid);
    END IF;
END
$$;
