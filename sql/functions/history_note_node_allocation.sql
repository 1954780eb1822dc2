-- Trigger: notes a created, changed or deleted node allocation. Changes that no client sees are no changes.
--
-- Runs at the commit. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_node_allocation() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_old node_allocations := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new node_allocations := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
    v_before jsonb := history_node_allocation_object(v_old);
    v_after jsonb := history_node_allocation_object(v_new);
BEGIN
    IF v_before IS DISTINCT FROM v_after THEN
        INSERT /* history_note_node_allocation 1/1 */ INTO outbox (topic, node, before, after)
        VALUES ('node_allocation', coalesce(v_new.uuid, v_old.uuid), v_before, v_after);
    END IF;
    RETURN NULL;
END
$$;
