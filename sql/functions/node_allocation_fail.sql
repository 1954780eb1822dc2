-- Writes that an allocation gets no node, if it is still to be decided by whom it was.
--
-- Notifies berth_decisions of its uuid if it is extended. Locks: the allocation.
CREATE OR REPLACE FUNCTION node_allocation_fail(p_wanted node_allocations, p_reason text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE node_allocations SET state = 'error', conductor_id = NULL, revision = revision + 1, updated_at = now(),
        last_error = format('Failed to process allocation %s: %s.', p_wanted.uuid, p_reason)
    WHERE id = p_wanted.id AND state = 'allocating' AND conductor_id = p_wanted.conductor_id;
    IF p_wanted.extended THEN
        PERFORM pg_notify('berth_decisions', p_wanted.uuid::text);
    END IF;
END
$$;
