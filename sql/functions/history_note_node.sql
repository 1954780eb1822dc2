-- Trigger: notes a created, changed or deleted node.
--
-- Runs at the commit. driver_info, instance_info and driver_internal_info can have passwords: of them it notes only that they have
-- changed. Changes that no client sees (reservations, times) are no changes. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_node() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_old nodes := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new nodes := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
    v_before jsonb := history_node_object(v_old);
    v_after jsonb := history_node_object(v_new);
    v_hidden text[];
BEGIN
    IF TG_OP = 'UPDATE' THEN
        v_hidden := ARRAY(
            SELECT /* history_note_node 1/2 */ member.name FROM unnest('{driver_info,driver_internal_info,instance_info}'::text[]) AS member (name)
            WHERE v_old.details -> member.name IS DISTINCT FROM v_new.details -> member.name);
        IF cardinality(v_hidden) > 0 THEN
            v_after := v_after || jsonb_build_object('hidden', v_hidden);
        END IF;
    END IF;
    IF v_before IS DISTINCT FROM v_after THEN
        INSERT /* history_note_node 2/2 */ INTO outbox (topic, node_id, node, before, after)
        VALUES ('node', coalesce(v_new.id, v_old.id), coalesce(v_new.uuid, v_old.uuid), v_before, v_after);
    END IF;
    RETURN NULL;
END
$$;
