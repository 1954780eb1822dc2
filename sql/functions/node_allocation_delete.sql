-- DELETE /v1/allocations/{ident}, by uuid or name, the other null; p_of_node:
-- DELETE /v1/nodes/{ident}/allocation, by the node's. Its node is free afterwards.
-- Notifies berth_decisions if it is extended and was still to be decided.
--
-- One that is still to be decided just goes; whoever decides it then finds nothing.
-- Raises PL030 (no such node), PL041 (no such allocation; the node has none), and
-- unless the node is in maintenance PL044 (it is active) and PL045 (it is on its way
-- to another state and must not be changed). 40001: it was decided meanwhile.
-- Locks: the node FOR UPDATE, the allocation FOR UPDATE, then as node_allocation_release.
CREATE OR REPLACE FUNCTION node_allocation_delete(p_uuid uuid, p_name text, p_of_node bool) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_ident text := coalesce(p_uuid::text, p_name);
    v_found node_allocations;
    v_held node_allocations;
    v_node nodes;
    v_rule text;
BEGIN
    IF p_of_node THEN
        SELECT node.* INTO v_node FROM nodes AS node WHERE node.uuid = p_uuid OR node.name = p_name FOR UPDATE;
        SELECT allocation.* INTO v_found FROM node_allocations AS allocation WHERE allocation.node_id = v_node.id;
    ELSE
        SELECT allocation.* INTO v_found FROM node_allocations AS allocation
        WHERE allocation.uuid = p_uuid OR allocation.name = p_name;
        SELECT node.* INTO v_node FROM nodes AS node WHERE node.id = v_found.node_id FOR UPDATE;
    END IF;
    SELECT allocation.* INTO v_held FROM node_allocations AS allocation WHERE allocation.id = v_found.id FOR UPDATE;
    IF v_held.node_id IS DISTINCT FROM v_found.node_id AND v_held.id IS NOT NULL THEN
        RAISE EXCEPTION 'allocation % has got a node', v_held.uuid USING ERRCODE = '40001';
    END IF;
    v_rule := CASE
        WHEN p_of_node AND v_node.id IS NULL THEN 'PL030'
        WHEN v_held.id IS NULL THEN 'PL041'
        WHEN v_node.maintenance THEN NULL
        WHEN v_node.provision_state = 'active' THEN 'PL044'
        WHEN v_node.target_provision_state IS NOT NULL AND v_node.provision_state NOT IN (
            'deploy failed', 'inspecting', 'inspect failed', 'inspect wait', 'clean failed', 'error', 'verifying',
            'adopt failed', 'rescue failed', 'unrescue failed') THEN 'PL045'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'allocation % cannot be deleted', v_ident USING ERRCODE = v_rule,
            DETAIL = json_build_object('allocation', coalesce(v_held.uuid::text, CASE WHEN NOT p_of_node THEN v_ident END),
                'node', coalesce(v_node.uuid::text, CASE WHEN p_of_node THEN v_ident END),
                'state', CASE WHEN v_rule <> 'PL041' THEN v_node.provision_state END);
    END IF;

    -- Somebody may wait for it to be decided.
    IF v_held.extended AND v_held.state = 'allocating' THEN
        PERFORM pg_notify('berth_decisions', v_held.uuid::text);
    END IF;
    IF v_node.id IS NULL THEN
        DELETE FROM node_allocations WHERE id = v_held.id;
        RETURN;
    END IF;
    PERFORM node_allocation_release(v_node.id);
    UPDATE nodes SET instance_uuid = NULL, revision = revision + 1, updated_at = now() WHERE id = v_node.id;
END
$$;
