-- POST /v1/allocations/{ident}/retry: an allocation in error, by its uuid or name, the
-- other null, is to be decided once more, by p_conductor and by itself: whatever
-- batch it was of.
--
-- Notifies berth_allocations. Raises PL041 (no such allocation), PL052 (it is not in error).
-- Locks: its row.
CREATE OR REPLACE FUNCTION node_allocation_retry(p_uuid uuid, p_name text, p_conductor text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_held node_allocations;
BEGIN
    SELECT allocation.* INTO v_held FROM node_allocations AS allocation
    WHERE allocation.uuid = p_uuid OR allocation.name = p_name
    FOR UPDATE;
    IF v_held.state IS DISTINCT FROM 'error' THEN
        RAISE EXCEPTION 'allocation % cannot be retried', coalesce(p_uuid::text, p_name)
            USING ERRCODE = CASE WHEN v_held.id IS NULL THEN 'PL041' ELSE 'PL052' END,
            DETAIL = json_build_object('allocation', coalesce(v_held.uuid::text, p_uuid::text, p_name), 'state', v_held.state);
    END IF;
    UPDATE node_allocations SET state = 'allocating', last_error = NULL, extended = true, batch_uuid = NULL, batch_minimum = NULL,
        conductor_id = (SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor),
        revision = revision + 1, updated_at = now()
    WHERE id = v_held.id;
    PERFORM pg_notify('berth_allocations', v_held.uuid::text);
END
$$;
