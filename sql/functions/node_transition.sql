-- Performs a transition of a node's provision state or power state.
--
-- Guards, each null for any value: p_from, the provision states in which the transition starts; p_revision;
-- p_holder, the hostname of the conductor that has the reservation. If one does not match, it writes
-- nothing and returns no row.
-- Writes: both provision states, the reservation, the last error (null: none), the power states if
-- p_set_power. p_tear_down: it empties instance_info and clears the instance_uuid and deletes the node's
-- allocation, unless the allocation is sticky.
-- Notifies berth_node_pending of the node's UUID if a target remains, unless only the reservation changes:
-- that conductor knows.
-- Raises PL030 (no such node), PL040 (no such conductor). Locks: the node, then what
-- node_allocation_release locks. Idempotent by its guards.
-- Calls: node_lock, then node_allocation_release (p_tear_down, not sticky), and for a sticky allocation
-- node_allocation_required_traits; the update fires node_provider_sync_trigger.
CREATE OR REPLACE FUNCTION node_transition(
    p_uuid uuid, p_name text, p_from text[], p_revision bigint, p_holder text,
    p_to text, p_target text, p_conductor text, p_last_error text,
    p_set_power bool, p_power_state text, p_target_power_state text, p_tear_down bool
) RETURNS SETOF nodes
LANGUAGE plpgsql AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, p_name);
    v_conductor int;
    v_sticky node_allocations;
    v_target_power text := CASE WHEN p_set_power THEN p_target_power_state ELSE v_locked.target_power_state END;
BEGIN
    IF v_locked.provision_state <> ALL (p_from) OR v_locked.revision <> p_revision
       OR (p_holder IS NOT NULL AND v_locked.conductor_id IS DISTINCT FROM (
            SELECT /* node_transition 1/6 */ conductor.id FROM conductors AS conductor
            WHERE conductor.hostname = p_holder)) THEN
        RETURN;
    END IF;
    IF p_conductor IS NOT NULL THEN
        SELECT /* node_transition 2/6 */ conductor.id INTO v_conductor FROM conductors AS conductor
        WHERE conductor.hostname = p_conductor;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no conductor %', p_conductor USING ERRCODE = 'PL040',
                DETAIL = json_build_object('conductor', p_conductor, 'node', v_locked.uuid);
        END IF;
    END IF;

    -- Before the update, which may lock the node's provider: the lock order has consumers first.
    IF p_tear_down THEN
        SELECT /* node_transition 3/6 */ allocation.* INTO v_sticky FROM node_allocations AS allocation
        WHERE allocation.node_id = v_locked.id AND allocation.sticky;
        IF NOT FOUND THEN
            PERFORM /* node_transition 4/6 */ node_allocation_release(v_locked.id);
        END IF;
    END IF;
    RETURN QUERY
    UPDATE /* node_transition 5/6 */ nodes AS node SET
        provision_state = p_to, target_provision_state = p_target,
        provision_updated_at = CASE WHEN p_to = node.provision_state THEN node.provision_updated_at ELSE now() END,
        conductor_id = v_conductor, last_error = p_last_error,
        power_state = CASE WHEN p_set_power THEN p_power_state ELSE node.power_state END,
        target_power_state = v_target_power,
        instance_uuid = CASE WHEN NOT p_tear_down OR v_sticky.id IS NOT NULL THEN node.instance_uuid END,
        details = CASE
            WHEN v_sticky.id IS NOT NULL THEN node.details
                || jsonb_build_object('instance_info',
                    jsonb_build_object('traits', node_allocation_required_traits(v_sticky.traits)))
            WHEN p_tear_down THEN node.details || '{"instance_info": {}}'
            ELSE node.details END,
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = v_locked.id
    RETURNING node.*;

    IF (p_target IS NOT NULL OR v_target_power IS NOT NULL)
       AND (v_conductor IS NULL OR (p_to, p_target, v_target_power) IS DISTINCT FROM
            (v_locked.provision_state, v_locked.target_provision_state, v_locked.target_power_state)) THEN
        PERFORM /* node_transition 6/6 */ pg_notify('berth_node_pending', v_locked.uuid::text);
    END IF;
END
$$;
