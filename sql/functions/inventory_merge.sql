-- Returns the complete records of the inventories that a merge patch changes, for inventory_write.
--
-- p_records is a JSON array of objects with class and some members of a record: a member replaces the value, null
-- resets it to its default, and what is missing keeps the value of the inventory, or the default if the provider has
-- none of the class. Records that equal their inventories are left out.
-- Raises PL076 for the first record without a total. Locks nothing; the caller has locked the provider.
CREATE OR REPLACE FUNCTION inventory_merge(p_provider uuid, p_provider_id bigint, p_records jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_patch jsonb;
    v_before jsonb;
    v_after jsonb;
    v_changed jsonb := '[]'::jsonb;
BEGIN
    FOR v_position IN 0 .. jsonb_array_length(p_records) - 1 LOOP
        v_patch := p_records -> v_position;
        v_before := (
            SELECT /* inventory_merge 1/2 */ jsonb_build_object('total', inventory.total, 'reserved', inventory.reserved,
                'min_unit', inventory.min_unit, 'max_unit', inventory.max_unit, 'step_size', inventory.step_size,
                'allocation_ratio', inventory.allocation_ratio)
            FROM inventories AS inventory
            WHERE inventory.provider_id = p_provider_id
              AND inventory.class_id = (
                SELECT class.id FROM resource_classes AS class WHERE class.name = v_patch ->> 'class'));
        v_after := jsonb_build_object('reserved', 0, 'min_unit', 1, 'max_unit', 2147483647, 'step_size', 1,
                'allocation_ratio', 1)
            || coalesce(v_before - ARRAY(SELECT /* inventory_merge 2/2 */ jsonb_object_keys(v_patch)), '{}')
            || jsonb_strip_nulls(v_patch);
        IF NOT v_after ? 'total' THEN
            RAISE EXCEPTION 'inventory of % on provider % has no total', v_patch ->> 'class', p_provider
                USING ERRCODE = 'PL076',
                DETAIL = json_build_object('provider', p_provider, 'class', v_patch ->> 'class');
        END IF;
        IF v_after - 'class' IS DISTINCT FROM v_before THEN
            v_changed := v_changed || jsonb_build_array(v_after);
        END IF;
    END LOOP;
    RETURN v_changed;
END
$$;
