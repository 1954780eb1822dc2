-- Trigger: notes the new generation of a provider. It is no change of its own: history_step adds it to the changes of the same
-- write.
--
-- Runs at the commit. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_generation() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    INSERT /* history_note_generation 1/1 */ INTO outbox (topic, provider_id, provider, generation)
    VALUES ('generation', NEW.provider_id,
        (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = NEW.provider_id), NEW.generation);
    RETURN NULL;
END
$$;
