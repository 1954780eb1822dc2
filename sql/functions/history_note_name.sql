-- Trigger: notes a created, renamed or deleted resource class, and a created or deleted trait.
--
-- Runs at the commit. A renamed class has its old name in before: inventories and allocations of it have the new name from then on,
-- and no notes of their own. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_name() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_topic text := CASE TG_TABLE_NAME WHEN 'traits' THEN 'trait_name' ELSE 'class_name' END;
BEGIN
    INSERT /* history_note_name 1/1 */ INTO outbox (topic, class, before, after)
    SELECT v_topic, CASE WHEN TG_OP = 'DELETE' THEN OLD.name ELSE NEW.name END,
        CASE TG_OP WHEN 'UPDATE' THEN jsonb_build_object('name', OLD.name) WHEN 'DELETE' THEN '{}' END,
        CASE WHEN TG_OP <> 'DELETE' THEN '{}'::jsonb END;
    RETURN NULL;
END
$$;
