-- DELETE /v1/nodes/{node}: deletes the node with its allocation, ports and traits.
--
-- Maintenance overrides the rules about the instance and the state. Raises, in this order: PL030 (no such
-- node), PL032 (an instance has it), PL035 (it is protected), PL034 (not in this state). Locks: the node
-- FOR UPDATE, then what node_allocation_release locks.
-- Calls: node_allocation_release; the deletion fires node_provider_sync_trigger.
CREATE OR REPLACE FUNCTION node_delete(p_uuid uuid, p_name text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked nodes;
    v_rule text;
BEGIN
    -- Not FOR NO KEY UPDATE first: a transaction that adds a port has locked the node FOR KEY SHARE.
    SELECT /* node_delete 1/3 */ node.* INTO v_locked FROM nodes AS node
    WHERE node.uuid = p_uuid OR node.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_locked.id IS NULL THEN 'PL030'
        WHEN v_locked.instance_uuid IS NOT NULL AND NOT v_locked.maintenance THEN 'PL032'
        WHEN v_locked.protected THEN 'PL035'
        WHEN v_locked.provision_state NOT IN ('enroll', 'manageable', 'adopt failed', 'available')
            AND NOT v_locked.maintenance THEN 'PL034'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'node % cannot be deleted', coalesce(p_uuid::text, p_name) USING ERRCODE = v_rule,
            DETAIL = json_build_object('node', coalesce(v_locked.uuid::text, p_uuid::text, p_name),
                'instance', v_locked.instance_uuid, 'state', v_locked.provision_state);
    END IF;

    PERFORM /* node_delete 2/3 */ node_allocation_release(v_locked.id);
    DELETE /* node_delete 3/3 */ FROM nodes WHERE id = v_locked.id;
END
$$;
