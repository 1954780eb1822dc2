-- Returns the changes that are not in history yet, as later changes than all of history: with indexes above all others, in their order.
--
-- Called by the functions that return how it was, mostly just after a step, when there are none. enable_seqscan off: see history_step.
-- Locks: none. Plan: outbox_pkey.
CREATE OR REPLACE FUNCTION history_pending()
RETURNS TABLE (index bigint, topic text, provider uuid, consumer uuid, node uuid, class text, before jsonb, after jsonb)
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
    v_swept bigint := (SELECT /* history_pending 1/3 */ state.swept FROM history_state AS state);
BEGIN
    IF EXISTS (SELECT /* history_pending 2/3 */ FROM outbox AS note WHERE note.seq > v_swept) THEN
        RETURN QUERY SELECT /* history_pending 3/3 */ 4611686018427387904 + change.last, change.topic, change.provider, change.consumer, change.node, change.class,
            change.before, change.after
        FROM history_changes(v_swept) AS change;
    END IF;
END
$$;
