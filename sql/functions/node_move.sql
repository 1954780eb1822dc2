-- A step of a node's way from state to state.
--
-- Guards, each null for "whatever": p_from, the provision states that the step
-- begins in; p_revision; p_holder, the hostname of the conductor that works on it.
-- Where one doesn't hold, nothing is written and no row returned.
-- Writes: both provision states, who works on it, the last error (null: none), the
-- power states if p_set_power. p_tear_down: instance_info is emptied, and the
-- instance_uuid and the node's allocation go, unless that one is sticky.
-- Notifies berth_nodes of the node's uuid where a target is left, unless the step
-- only says who works on it: that one knows.
-- Raises PL030 (no such node), PL040 (no such conductor). Locks: the node, then
-- what node_allocation_release locks. Idempotent by its guards.
CREATE OR REPLACE FUNCTION node_move(
    p_uuid uuid, p_name text, p_from text[], p_revision bigint, p_holder text,
    p_to text, p_target text, p_conductor text, p_last_error text,
    p_set_power bool, p_power_state text, p_target_power_state text, p_tear_down bool
) RETURNS SETOF nodes
LANGUAGE plpgsql AS $$
DECLARE
    v_held nodes := node_lock(p_uuid, p_name);
    v_conductor int;
    v_kept node_allocations;
    v_target_power text := CASE WHEN p_set_power THEN p_target_power_state ELSE v_held.target_power_state END;
BEGIN
    IF v_held.provision_state <> ALL (p_from) OR v_held.revision <> p_revision
       OR (p_holder IS NOT NULL AND v_held.conductor_id IS DISTINCT FROM (
            SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_holder)) THEN
        RETURN;
    END IF;
    IF p_conductor IS NOT NULL THEN
        SELECT conductor.id INTO v_conductor FROM conductors AS conductor WHERE conductor.hostname = p_conductor;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no conductor %', p_conductor USING ERRCODE = 'PL040',
                DETAIL = json_build_object('conductor', p_conductor, 'node', v_held.uuid);
        END IF;
    END IF;

    -- First, since the update may lock the node's provider, and consumers come before.
    IF p_tear_down THEN
        SELECT allocation.* INTO v_kept FROM node_allocations AS allocation
        WHERE allocation.node_id = v_held.id AND allocation.sticky;
        IF NOT FOUND THEN
            PERFORM node_allocation_release(v_held.id);
        END IF;
    END IF;
    RETURN QUERY
    UPDATE nodes AS node SET
        provision_state = p_to, target_provision_state = p_target,
        provision_updated_at = CASE WHEN p_to = node.provision_state THEN node.provision_updated_at ELSE now() END,
        conductor_id = v_conductor, last_error = p_last_error,
        power_state = CASE WHEN p_set_power THEN p_power_state ELSE node.power_state END,
        target_power_state = v_target_power,
        instance_uuid = CASE WHEN NOT p_tear_down OR v_kept.id IS NOT NULL THEN node.instance_uuid END,
        details = CASE
            WHEN v_kept.id IS NOT NULL THEN node.details
                || jsonb_build_object('instance_info', jsonb_build_object('traits', node_allocation_plain(v_kept.traits)))
            WHEN p_tear_down THEN node.details || '{"instance_info": {}}'
            ELSE node.details END,
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = v_held.id
    RETURNING node.*;

    IF (p_target IS NOT NULL OR v_target_power IS NOT NULL)
       AND (v_conductor IS NULL OR (p_to, p_target, v_target_power) IS DISTINCT FROM
            (v_held.provision_state, v_held.target_provision_state, v_held.target_power_state)) THEN
        PERFORM pg_notify('berth_nodes', v_held.uuid::text);
    END IF;
END
$$;
