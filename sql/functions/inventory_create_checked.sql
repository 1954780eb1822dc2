-- POST /resource_providers/{uuid}/inventories: adds the inventory of one class.
--
-- p_generation null: do not compare the provider's generation. p_record: one record as in inventory_write.
-- Returns the new generation.
-- Raises, in this order: PL001 (no such provider), PL002 (generation), PL006 (reserved), PL008 (the provider has
-- this class already), PL004 (unknown class). Locks: root, provider.
CREATE OR REPLACE FUNCTION inventory_create_checked(
    p_provider uuid, p_generation bigint, p_record jsonb, p_min_capacity int
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
BEGIN
    SELECT /* inventory_create_checked 1/4 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    PERFORM /* inventory_create_checked 2/4 */ inventory_check_capacity(p_provider, jsonb_build_array(p_record),
        p_min_capacity);
    IF EXISTS (
        SELECT /* inventory_create_checked 3/4 */
        FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
        WHERE inventory.provider_id = v_locked.provider_id AND class.name = p_record ->> 'class'
    ) THEN
        RAISE EXCEPTION 'provider % has inventory of % already', p_provider, p_record ->> 'class'
            USING ERRCODE = 'PL008',
            DETAIL = json_build_object('provider', p_provider, 'class', p_record ->> 'class');
    END IF;
    PERFORM /* inventory_create_checked 4/4 */ inventory_write(v_locked.provider_id, v_locked.root_id,
        jsonb_build_array(p_record));
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;
