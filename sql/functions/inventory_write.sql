-- Inserts or updates inventory records of one provider; updates keep used.
--
-- p_records is a JSON array of {class, total, reserved, min_unit, max_unit, step_size, allocation_ratio},
-- with every member. Raises PL004 (unknown class). The caller has locked the provider and its root.
CREATE OR REPLACE FUNCTION inventory_write(p_provider_id bigint, p_root_id bigint, p_records jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_classes int[] := resource_class_ids(inventory_names(p_records));
BEGIN
    INSERT /* inventory_write 1/1 */ INTO inventories AS existing (
        provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
    SELECT p_provider_id, v_classes[item.position], p_root_id,
        (item.record ->> 'total')::int, (item.record ->> 'reserved')::int, (item.record ->> 'min_unit')::int,
        (item.record ->> 'max_unit')::int, (item.record ->> 'step_size')::int,
        (item.record ->> 'allocation_ratio')::float8
    FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, position)
    ORDER BY v_classes[item.position]
    ON CONFLICT (provider_id, class_id) DO UPDATE SET
        total = excluded.total, reserved = excluded.reserved, min_unit = excluded.min_unit,
        max_unit = excluded.max_unit, step_size = excluded.step_size,
        allocation_ratio = excluded.allocation_ratio, updated_at = now();
END
$$;
