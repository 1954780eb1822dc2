-- PUT /resource_providers/{uuid}/inventories/{class}: sets the values of an inventory that exists.
--
-- p_record: one record as in inventory_write. Returns the new generation.
-- Raises, in this order: PL001 (no such provider), PL002 (generation), PL006 (reserved), PL004 (unknown
-- class), PL007 (the provider has none of it).
-- Locks: root, provider.
CREATE OR REPLACE FUNCTION inventory_update(
    p_provider uuid, p_generation bigint, p_record jsonb, p_min_capacity int
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
    v_class int;
BEGIN
    SELECT /* inventory_update 1/4 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    PERFORM /* inventory_update 2/4 */ inventory_check_capacity(p_provider, jsonb_build_array(p_record),
        p_min_capacity);
    v_class := (resource_class_ids(ARRAY[p_record ->> 'class']))[1];
    IF NOT EXISTS (
        SELECT /* inventory_update 3/4 */ FROM inventories AS inventory
        WHERE inventory.provider_id = v_locked.provider_id AND inventory.class_id = v_class
    ) THEN
        RAISE EXCEPTION 'provider % has no inventory of %', p_provider, p_record ->> 'class'
            USING ERRCODE = 'PL007',
            DETAIL = json_build_object('provider', p_provider, 'class', p_record ->> 'class');
    END IF;
    PERFORM /* inventory_update 4/4 */ inventory_write(v_locked.provider_id, v_locked.root_id,
        jsonb_build_array(p_record));
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;
