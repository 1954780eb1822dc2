-- DELETE /resource_providers/{uuid}/inventories/{class}: deletes the inventory of one class.
--
-- p_generation null: do not compare the provider's generation. Returns the new generation.
-- Raises, in this order: PL001 (no such provider), PL007 (the provider has none of it), PL002 (generation), PL005
-- (in use).
-- Locks: root, provider.
CREATE OR REPLACE FUNCTION inventory_delete_checked(p_provider uuid, p_generation bigint, p_class text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
    v_used bigint;
BEGIN
    SELECT /* inventory_delete_checked 1/4 */ * INTO v_locked FROM provider_lock(p_provider, NULL, true, false);
    SELECT /* inventory_delete_checked 2/4 */ inventory.used INTO v_used
    FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
    WHERE inventory.provider_id = v_locked.provider_id AND class.name = p_class;
    IF v_used IS NOT NULL THEN
        PERFORM /* inventory_delete_checked 3/4 */ provider_check_generation(p_provider, v_locked.generation, p_generation);
    END IF;
    IF v_used IS NULL OR v_used > 0 THEN
        RAISE EXCEPTION 'inventory of % on provider % cannot be deleted', p_class, p_provider
            USING ERRCODE = CASE WHEN v_used IS NULL THEN 'PL007' ELSE 'PL005' END,
            DETAIL = json_build_object('provider', p_provider, 'class', p_class);
    END IF;
    DELETE /* inventory_delete_checked 4/4 */ FROM inventories AS inventory USING resource_classes AS class
    WHERE inventory.provider_id = v_locked.provider_id AND class.id = inventory.class_id AND class.name = p_class;
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;
