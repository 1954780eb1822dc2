-- Trigger: notes a created, changed or deleted inventory. Claims change used alone, and do not get here.
--
-- Runs at the commit. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_inventory() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_old inventories := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new inventories := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
BEGIN
    INSERT /* history_note_inventory 1/1 */ INTO outbox (topic, provider_id, provider, class, before, after)
    SELECT 'inventory', inventory.provider_id,
        (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = inventory.provider_id),
        (SELECT class.name FROM resource_classes AS class WHERE class.id = inventory.class_id),
        history_inventory_object(v_old), history_inventory_object(v_new)
    FROM (
        SELECT coalesce(v_new.provider_id, v_old.provider_id) AS provider_id, coalesce(v_new.class_id, v_old.class_id) AS class_id
    ) AS inventory;
    RETURN NULL;
END
$$;
