-- Trigger: notes a created, changed or deleted allocation. Functions that claim for new consumers note those themselves.
--
-- An allocation that moves to another consumer or provider is one that is gone and one that is new.
-- Runs at the commit. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_allocation() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_old allocations := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new allocations := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
BEGIN
    INSERT /* history_note_allocation 1/1 */ INTO outbox (topic, provider_id, provider, consumer_id, consumer, class, before, after)
    SELECT 'allocation', item.provider_id,
        (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = item.provider_id),
        item.consumer_id, (SELECT consumer.uuid FROM consumers AS consumer WHERE consumer.id = item.consumer_id),
        (SELECT class.name FROM resource_classes AS class WHERE class.id = item.class_id), to_jsonb(max(item.before)), to_jsonb(max(item.after))
    FROM (
        SELECT v_old.consumer_id, v_old.provider_id, v_old.class_id, v_old.used AS before, NULL::bigint AS after
        UNION ALL SELECT v_new.consumer_id, v_new.provider_id, v_new.class_id, NULL, v_new.used
    ) AS item
    WHERE item.consumer_id IS NOT NULL
    GROUP BY item.consumer_id, item.provider_id, item.class_id;
    RETURN NULL;
END
$$;
