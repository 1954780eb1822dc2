-- Trigger: notes what has changed of a provider: its name, parent and root, its traits, its aggregates.
--
-- Runs at the commit. A parent or root that is gone by then has its id in the note: history_step finds the UUID among the
-- notes of the same transaction. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_provider() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_old resource_providers := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new resource_providers := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
BEGIN
    INSERT /* history_note_provider 1/1 */ INTO outbox (topic, provider_id, provider, before, after)
    SELECT note.topic, coalesce(v_new.id, v_old.id), coalesce(v_new.uuid, v_old.uuid), note.before, note.after
    FROM (
        SELECT 'provider' AS topic, history_provider_object(v_old) AS before, history_provider_object(v_new) AS after
        UNION ALL SELECT 'trait', history_trait_names(v_old.trait_ids), history_trait_names(v_new.trait_ids)
        WHERE coalesce(v_old.trait_ids, '{}') <> coalesce(v_new.trait_ids, '{}')
        UNION ALL SELECT 'aggregate', history_aggregate_uuids(v_old.aggregate_ids), history_aggregate_uuids(v_new.aggregate_ids)
        WHERE coalesce(v_old.aggregate_ids, '{}') <> coalesce(v_new.aggregate_ids, '{}')
    ) AS note
    WHERE note.before IS DISTINCT FROM note.after;
    RETURN NULL;
END
$$;
