-- Deletes a provider's inventories of all classes except p_keep.
--
-- Raises PL005 naming the classes (in the order of their ids) that still have allocations. The caller has
-- locked the provider and its root, so no transaction can add an allocation between check and deletion.
CREATE OR REPLACE FUNCTION inventory_delete_except(p_provider uuid, p_provider_id bigint, p_keep text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_in_use text[];
BEGIN
    SELECT /* inventory_delete_except 1/2 */ array_agg(class.name ORDER BY class.id) INTO v_in_use
    FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
    WHERE inventory.provider_id = p_provider_id AND inventory.used > 0 AND class.name <> ALL (p_keep);
    IF v_in_use IS NOT NULL THEN
        RAISE EXCEPTION 'inventory of % on provider % is in use', array_to_string(v_in_use, ', '), p_provider
            USING ERRCODE = 'PL005',
            DETAIL = json_build_object('provider', p_provider, 'class', array_to_string(v_in_use, ', '));
    END IF;
    DELETE /* inventory_delete_except 2/2 */ FROM inventories AS inventory USING resource_classes AS class
    WHERE inventory.provider_id = p_provider_id AND class.id = inventory.class_id AND class.name <> ALL (p_keep);
END
$$;
