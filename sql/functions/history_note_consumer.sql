-- Trigger: notes a created, changed or deleted consumer, without its allocations and its lease. Functions that claim for new
-- consumers note those themselves.
--
-- Runs at the commit. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_consumer() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_old consumers := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new consumers := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
BEGIN
    INSERT /* history_note_consumer 1/1 */ INTO outbox (topic, consumer_id, consumer, before, after)
    VALUES ('consumer', coalesce(v_new.id, v_old.id), coalesce(v_new.uuid, v_old.uuid),
        history_consumer_object(v_old), history_consumer_object(v_new));
    RETURN NULL;
END
$$;
