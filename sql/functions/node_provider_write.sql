-- Writes a node's unit: see node_provider_sync. Returns whether anything changed.
--
-- The caller holds the provider and its root.
CREATE OR REPLACE FUNCTION node_provider_write(
    p_node nodes, p_provider bigint, p_root bigint, p_lend bool
) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_class text := node_provider_class(p_node.resource_class);
    v_class_id int := (SELECT class.id FROM resource_classes AS class WHERE class.name = v_class);
    v_reserved int := 1;
    v_changes bigint;
    v_more bigint;
BEGIN
    DELETE FROM inventories AS other
    WHERE other.provider_id = p_provider AND other.class_id IS DISTINCT FROM v_class_id AND other.used = 0;
    GET DIAGNOSTICS v_changes = ROW_COUNT;
    UPDATE inventories AS other SET reserved = other.total, updated_at = now()
    WHERE other.provider_id = p_provider AND other.class_id IS DISTINCT FROM v_class_id AND other.reserved < other.total;
    GET DIAGNOSTICS v_more = ROW_COUNT;
    v_changes := v_changes + v_more;
    IF v_class IS NULL THEN
        RETURN v_changes > 0;
    END IF;

    IF p_lend OR node_provider_offered(p_node) AND NOT EXISTS (
            SELECT FROM inventories AS other WHERE other.provider_id = p_provider AND other.class_id <> v_class_id) THEN
        v_reserved := 0;
    END IF;
    IF NOT EXISTS (
        SELECT FROM inventories AS unit
        WHERE unit.provider_id = p_provider AND unit.class_id = v_class_id AND unit.total = 1 AND unit.reserved = v_reserved
          AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1
    ) THEN
        PERFORM inventory_write(p_provider, p_root, jsonb_build_array(jsonb_build_object(
            'class', v_class, 'total', 1, 'reserved', v_reserved,
            'min_unit', 1, 'max_unit', 1, 'step_size', 1, 'allocation_ratio', 1.0)));
        v_changes := v_changes + 1;
    END IF;
    RETURN v_changes > 0;
END
$$;
