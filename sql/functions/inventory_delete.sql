-- DELETE /resource_providers/{uuid}/inventories/{class}: deletes the inventory of one class.
--
-- Returns the new generation. Raises PL001 (no such provider), PL007 (the provider has none of it), PL005
-- (in use). Locks: root, provider.
CREATE OR REPLACE FUNCTION inventory_delete(p_provider uuid, p_class text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
    v_used bigint;
BEGIN
    SELECT /* inventory_delete 1/3 */ * INTO v_locked FROM provider_lock(p_provider, NULL, true, false);
    SELECT /* inventory_delete 2/3 */ inventory.used INTO v_used
    FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
    WHERE inventory.provider_id = v_locked.provider_id AND class.name = p_class;
    IF v_used IS NULL OR v_used > 0 THEN
        RAISE EXCEPTION 'inventory of % on provider % cannot be deleted', p_class, p_provider
            USING ERRCODE = CASE WHEN v_used IS NULL THEN 'PL007' ELSE 'PL005' END,
            DETAIL = json_build_object('provider', p_provider, 'class', p_class);
    END IF;
    DELETE /* inventory_delete 3/3 */ FROM inventories AS inventory USING resource_classes AS class
    WHERE inventory.provider_id = v_locked.provider_id AND class.id = inventory.class_id AND class.name = p_class;
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;
