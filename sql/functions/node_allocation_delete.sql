-- DELETE /v1/allocations/{allocation}, by UUID or name (the other is null), or, with p_of_node, DELETE
-- /v1/nodes/{node}/allocation, by the UUID or name of the node. Releases the node of the allocation.
-- Notifies berth_node_allocation_decided if the allocation is extended and was pending.
--
-- A pending allocation is deleted; the conductor that processes it later finds no row.
-- Raises PL030 (no such node), PL041 (no such allocation; the node has none), and unless the node is in
-- maintenance PL044 (it is active) and PL045 (it is in a transition and must not be changed). 40001: a
-- conductor assigned a node meanwhile.
-- Locks: the node FOR UPDATE, the allocation FOR UPDATE, then as node_allocation_release.
-- Calls: node_allocation_release, if it has a node; the update of the node fires
-- node_provider_sync_trigger.
CREATE OR REPLACE FUNCTION node_allocation_delete(p_uuid uuid, p_name text, p_of_node bool) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_ident text := coalesce(p_uuid::text, p_name);
    v_found node_allocations;
    v_locked node_allocations;
    v_node nodes;
    v_rule text;
BEGIN
    IF p_of_node THEN
        SELECT /* node_allocation_delete 1/9 */ node.* INTO v_node FROM nodes AS node
        WHERE node.uuid = p_uuid OR node.name = p_name FOR UPDATE;
        SELECT /* node_allocation_delete 2/9 */ allocation.* INTO v_found FROM node_allocations AS allocation
        WHERE allocation.node_id = v_node.id;
    ELSE
        SELECT /* node_allocation_delete 3/9 */ allocation.* INTO v_found FROM node_allocations AS allocation
        WHERE allocation.uuid = p_uuid OR allocation.name = p_name;
        SELECT /* node_allocation_delete 4/9 */ node.* INTO v_node FROM nodes AS node
        WHERE node.id = v_found.node_id FOR UPDATE;
    END IF;
    SELECT /* node_allocation_delete 5/9 */ allocation.* INTO v_locked FROM node_allocations AS allocation
    WHERE allocation.id = v_found.id FOR UPDATE;
    IF v_locked.node_id IS DISTINCT FROM v_found.node_id AND v_locked.id IS NOT NULL THEN
        RAISE EXCEPTION 'allocation % was assigned a node concurrently', v_locked.uuid USING ERRCODE = '40001';
    END IF;
    v_rule := CASE
        WHEN p_of_node AND v_node.id IS NULL THEN 'PL030'
        WHEN v_locked.id IS NULL THEN 'PL041'
        WHEN v_node.maintenance THEN NULL
        WHEN v_node.provision_state = 'active' THEN 'PL044'
        WHEN v_node.target_provision_state IS NOT NULL AND v_node.provision_state NOT IN (
            'deploy failed', 'inspecting', 'inspect failed', 'inspect wait', 'clean failed', 'error', 'verifying',
            'adopt failed', 'rescue failed', 'unrescue failed') THEN 'PL045'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'allocation % cannot be deleted', v_ident USING ERRCODE = v_rule,
            DETAIL = json_build_object('allocation',
                coalesce(v_locked.uuid::text, CASE WHEN NOT p_of_node THEN v_ident END),
                'node', coalesce(v_node.uuid::text, CASE WHEN p_of_node THEN v_ident END),
                'state', CASE WHEN v_rule <> 'PL041' THEN v_node.provision_state END);
    END IF;

    -- A client may wait for its result.
    IF v_locked.extended AND v_locked.state = 'allocating' THEN
        PERFORM /* node_allocation_delete 6/9 */ pg_notify('berth_node_allocation_decided', v_locked.uuid::text);
    END IF;
    IF v_node.id IS NULL THEN
        DELETE /* node_allocation_delete 7/9 */ FROM node_allocations WHERE id = v_locked.id;
        RETURN;
    END IF;
    PERFORM /* node_allocation_delete 8/9 */ node_allocation_release(v_node.id);
    UPDATE /* node_allocation_delete 9/9 */ nodes SET instance_uuid = NULL, revision = revision + 1, updated_at = now()
    WHERE id = v_node.id;
END
$$;
