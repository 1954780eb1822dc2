-- DELETE /v1/nodes/{ident}: the node with its allocation, ports and traits.
--
-- Maintenance overrides the rules about the instance and the state. Raises, in
-- this order: PL030 (no such node), PL032 (an instance has it), PL035 (it is
-- protected), PL034 (not in this state). Locks: the node FOR UPDATE, then what
-- node_allocation_release locks.
CREATE OR REPLACE FUNCTION node_delete(p_uuid uuid, p_name text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_held nodes;
    v_rule text;
BEGIN
    -- At once, and not first FOR NO KEY UPDATE: whoever adds a port holds it FOR KEY SHARE.
    SELECT node.* INTO v_held FROM nodes AS node WHERE node.uuid = p_uuid OR node.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_held.id IS NULL THEN 'PL030'
        WHEN v_held.instance_uuid IS NOT NULL AND NOT v_held.maintenance THEN 'PL032'
        WHEN v_held.protected THEN 'PL035'
        WHEN v_held.provision_state NOT IN ('enroll', 'manageable', 'adopt failed', 'available')
            AND NOT v_held.maintenance THEN 'PL034'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'node % cannot be deleted', coalesce(p_uuid::text, p_name) USING ERRCODE = v_rule,
            DETAIL = json_build_object('node', coalesce(v_held.uuid::text, p_uuid::text, p_name),
                'instance', v_held.instance_uuid, 'state', v_held.provision_state);
    END IF;

    PERFORM node_allocation_release(v_held.id);
    DELETE FROM nodes WHERE id = v_held.id;
END
$$;
