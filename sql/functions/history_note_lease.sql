-- Trigger: notes a lease that a consumer got, that has changed, or that it lost. A renewal that keeps its length does not get here.
--
-- Runs at the commit. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_lease() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_old leases := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new leases := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
    v_consumer bigint := coalesce(v_new.consumer_id, v_old.consumer_id);
BEGIN
    INSERT /* history_note_lease 1/1 */ INTO outbox (topic, consumer_id, consumer, before, after)
    VALUES ('lease', v_consumer, (SELECT consumer.uuid FROM consumers AS consumer WHERE consumer.id = v_consumer),
        CASE WHEN v_old.consumer_id IS NOT NULL THEN lease_show(v_old) END,
        CASE WHEN v_new.consumer_id IS NOT NULL THEN lease_show(v_new) END);
    RETURN NULL;
END
$$;
