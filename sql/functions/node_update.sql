-- PATCH /v1/nodes/{node}: updates a node that was read at p_revision from an object with the names of its
-- columns. Its id, UUID, times and reservation do not change, whatever p_node contains.
--
-- If the update clears the instance_uuid, it also deletes the node's allocation. The caller has checked
-- that the state permits this, at the same revision.
-- Returns the node with the next revision. Raises, in this order: PL030 (no such node), PL031 (it was
-- changed since p_revision), PL032 (it is another instance's: an instance_uuid is only set where there is
-- none), PL033 (a new owner, while an owner's allocation has the node), 23505 (nodes_name_key,
-- nodes_instance_uuid_key).
-- Locks: the node, then what node_allocation_release locks.
-- Calls: node_lock, then node_allocation_release (the instance_uuid is cleared); the update fires
-- node_provider_sync_trigger.
CREATE OR REPLACE FUNCTION node_update(p_uuid uuid, p_revision bigint, p_node jsonb) RETURNS SETOF nodes
LANGUAGE plpgsql AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, NULL);
    v_given nodes := jsonb_populate_record(v_locked, p_node);
    v_rule text;
BEGIN
    v_rule := CASE
        WHEN v_locked.revision <> p_revision THEN 'PL031'
        WHEN v_given.instance_uuid <> v_locked.instance_uuid THEN 'PL032'
        WHEN v_given.owner IS DISTINCT FROM v_locked.owner AND EXISTS (
            SELECT /* node_update 1/3 */ FROM node_allocations AS allocation
            WHERE allocation.node_id = v_locked.id AND allocation.owner IS NOT NULL) THEN 'PL033'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'node % cannot be updated', p_uuid USING ERRCODE = v_rule, DETAIL = json_build_object(
            'node', p_uuid, 'instance', v_locked.instance_uuid, 'actual', v_locked.revision, 'given', p_revision);
    END IF;

    -- Before the update, which may lock the node's provider: the lock order has consumers first.
    IF v_locked.instance_uuid IS NOT NULL AND v_given.instance_uuid IS NULL THEN
        PERFORM /* node_update 2/3 */ node_allocation_release(v_locked.id);
    END IF;
    RETURN QUERY
    UPDATE /* node_update 3/3 */ nodes AS node SET
        name = v_given.name, driver = v_given.driver, resource_class = v_given.resource_class,
        provision_state = v_given.provision_state, target_provision_state = v_given.target_provision_state,
        provision_updated_at = CASE
            WHEN v_given.provision_state = v_locked.provision_state THEN v_locked.provision_updated_at ELSE now() END,
        power_state = v_given.power_state, target_power_state = v_given.target_power_state,
        maintenance = v_given.maintenance, maintenance_reason = v_given.maintenance_reason, fault = v_given.fault,
        instance_uuid = v_given.instance_uuid, owner = v_given.owner, lessee = v_given.lessee,
        protected = v_given.protected, retired = v_given.retired, conductor_group = v_given.conductor_group,
        last_error = v_given.last_error, details = v_given.details,
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = v_locked.id
    RETURNING node.*;
END
$$;
