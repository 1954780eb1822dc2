-- Deletes the removed inventories of PATCH /reshaper, and returns the providers that had some.
--
-- p_inventories: see reshape_patch; removed classes that a provider does not have are ignored. Raises PL005 (in use). The
-- caller has locked the providers and their roots.
-- Calls, for each provider with such inventories: inventory_delete_except.
CREATE OR REPLACE FUNCTION reshape_patch_remove(p_inventories jsonb) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_shape record;
    v_kept text[];
    v_drops bool;
    v_moved bigint[] := '{}'::bigint[];
BEGIN
    FOR v_shape IN SELECT /* reshape_patch_remove 1/3 */ shape.provider, shape.provider_id,
        ARRAY(SELECT jsonb_array_elements_text(p_inventories -> (shape.request_position - 1)::int -> 'removed')) AS removed
        FROM reshape_providers(p_inventories) AS shape ORDER BY shape.request_position
    LOOP
        SELECT /* reshape_patch_remove 2/3 */ coalesce(array_agg(class.name) FILTER (WHERE class.name <> ALL (v_shape.removed)), '{}'),
            coalesce(bool_or(class.name = ANY (v_shape.removed)), false)
        INTO v_kept, v_drops
        FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
        WHERE inventory.provider_id = v_shape.provider_id;
        IF v_drops THEN
            PERFORM /* reshape_patch_remove 3/3 */ inventory_delete_except(v_shape.provider, v_shape.provider_id, v_kept);
            v_moved := v_moved || v_shape.provider_id;
        END IF;
    END LOOP;
    RETURN v_moved;
END
$$;
