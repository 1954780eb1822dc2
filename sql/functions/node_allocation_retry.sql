-- POST /v1/allocations/{allocation}/retry: sets an allocation in error, by its UUID or name (the other is null),
-- to pending again, for p_conductor. It leaves its batch.
--
-- Notifies berth_node_allocation_pending. Raises PL041 (no such allocation), PL052 (it is not in error).
-- Locks: its row.
CREATE OR REPLACE FUNCTION node_allocation_retry(p_uuid uuid, p_name text, p_conductor text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked node_allocations;
BEGIN
    SELECT /* node_allocation_retry 1/3 */ allocation.* INTO v_locked FROM node_allocations AS allocation
    WHERE allocation.uuid = p_uuid OR allocation.name = p_name
    FOR UPDATE;
    IF v_locked.state IS DISTINCT FROM 'error' THEN
        RAISE EXCEPTION 'allocation % cannot be retried', coalesce(p_uuid::text, p_name)
            USING ERRCODE = CASE WHEN v_locked.id IS NULL THEN 'PL041' ELSE 'PL052' END,
            DETAIL = json_build_object('allocation', coalesce(v_locked.uuid::text, p_uuid::text, p_name), 'state',
                v_locked.state);
    END IF;
    UPDATE /* node_allocation_retry 2/3 */ node_allocations
        SET state = 'allocating', last_error = NULL, extended = true, batch_uuid = NULL, batch_minimum = NULL,
        conductor_id = (SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor),
        revision = revision + 1, updated_at = now()
    WHERE id = v_locked.id;
    PERFORM /* node_allocation_retry 3/3 */ pg_notify('berth_node_allocation_pending', v_locked.uuid::text);
END
$$;
