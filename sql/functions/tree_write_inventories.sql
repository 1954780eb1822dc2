-- Inserts or updates the changed inventory records of PUT /resource_providers/{uuid}/tree; updates keep used.
--
-- p_changes: see tree_check; all classes in it existed when the caller looked. A class that was deleted since violates the
-- foreign key (23503), and the store retries the write. One statement writes the inventories of all providers, so that
-- tree_class_count writes a row of tree_classes once and not for each provider. The caller has created and locked the
-- providers.
CREATE OR REPLACE FUNCTION tree_write_inventories(p_root_id bigint, p_changes jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT /* tree_write_inventories 1/1 */ INTO inventories AS existing (
        provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
    SELECT part.provider_id, coalesce((SELECT class.id FROM resource_classes AS class
            WHERE class.name = record.class), -1) AS class_id, p_root_id,
        record.total, record.reserved, record.min_unit, record.max_unit, record.step_size, record.allocation_ratio
    FROM tree_parts(p_changes) AS part
    CROSS JOIN jsonb_to_recordset(part.records) AS record (class text, total int, reserved int, min_unit int,
        max_unit int, step_size int, allocation_ratio float8)
    ORDER BY part.provider_id, class_id
    ON CONFLICT (provider_id, class_id) DO UPDATE SET
        total = excluded.total, reserved = excluded.reserved, min_unit = excluded.min_unit,
        max_unit = excluded.max_unit, step_size = excluded.step_size,
        allocation_ratio = excluded.allocation_ratio, updated_at = now();
END
$$;
