-- Deletes the inventories of classes that PUT /resource_providers/{uuid}/tree leaves out.
--
-- p_changes: see tree_check. Raises PL005 for the first provider of the request with such a class that still has
-- allocations, naming all of them (in the order of their ids). The caller has locked the providers and the root. One
-- statement deletes all, so that tree_class_count writes a row of tree_classes once and not for each provider.
CREATE OR REPLACE FUNCTION tree_drop_inventories(p_changes jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_dropped record;
    v_used record;
BEGIN
    -- A provider that the request creates has only requested inventories.
    SELECT /* tree_drop_inventories 1/3 */ array_agg(present.provider_id) AS providers, array_agg(present.class_id) AS classes,
        array_agg(change.request_position) FILTER (WHERE present.used > 0) AS positions
    INTO v_dropped
    FROM tree_changes(p_changes) AS change
    CROSS JOIN LATERAL (
        SELECT inventory.provider_id, inventory.class_id, inventory.used, (SELECT class.name
            FROM resource_classes AS class WHERE class.id = inventory.class_id) AS class
        FROM inventories AS inventory WHERE inventory.provider_id = change.provider_id OFFSET 0
    ) AS present
    WHERE change.inventories IS NOT NULL
      AND NOT change.inventories @> jsonb_build_array(jsonb_build_object('class', present.class));
    IF v_dropped.positions IS NOT NULL THEN
        SELECT /* tree_drop_inventories 2/3 */ change.provider, string_agg(class.name, ', ' ORDER BY class.id) AS classes
        INTO v_used
        FROM tree_changes(p_changes) AS change
        JOIN inventories AS inventory ON inventory.provider_id = change.provider_id
        JOIN resource_classes AS class ON class.id = inventory.class_id
        WHERE change.request_position = (SELECT min(used.position) FROM unnest(v_dropped.positions) AS used (position))
          AND inventory.used > 0
          AND NOT change.inventories @> jsonb_build_array(jsonb_build_object('class', class.name))
        GROUP BY change.provider;
        RAISE EXCEPTION 'inventory of % on provider % is in use', v_used.classes, v_used.provider USING ERRCODE = 'PL005',
            DETAIL = json_build_object('provider', v_used.provider, 'class', v_used.classes);
    END IF;
    DELETE /* tree_drop_inventories 3/3 */ FROM inventories AS inventory
    WHERE inventory.provider_id = ANY (v_dropped.providers) AND (inventory.provider_id, inventory.class_id) IN (
        SELECT dropped.provider_id, dropped.class_id
        FROM unnest(v_dropped.providers, v_dropped.classes) AS dropped (provider_id, class_id));
END
$$;
