-- Writes the changed and new inventories of PATCH /reshaper, and returns the providers with changes.
--
-- p_inventories: see reshape_patch. Raises, for each provider, PL076 (no total), PL006 (reserved), PL004 (unknown class).
-- The caller has locked the providers and their roots.
-- Calls, for each provider: inventory_merge, inventory_check_capacity, inventory_write.
CREATE OR REPLACE FUNCTION reshape_patch_inventories(p_inventories jsonb) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_shape record;
    v_changed jsonb;
    v_moved bigint[] := '{}'::bigint[];
BEGIN
    FOR v_shape IN SELECT /* reshape_patch_inventories 1/3 */ * FROM reshape_providers(p_inventories) LOOP
        v_changed := inventory_merge(v_shape.provider, v_shape.provider_id, v_shape.records);
        IF v_changed <> '[]' THEN
            PERFORM /* reshape_patch_inventories 2/3 */ inventory_check_capacity(v_shape.provider, v_changed, 0);
            PERFORM /* reshape_patch_inventories 3/3 */ inventory_write(v_shape.provider_id, v_shape.root_id, v_changed);
            v_moved := v_moved || v_shape.provider_id;
        END IF;
    END LOOP;
    RETURN v_moved;
END
$$;
