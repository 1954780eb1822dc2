-- Returns the records among all new inventories of a provider that differ from the present ones, in the order of the
-- request; empty if only classes are dropped, null if the inventories are the same.
--
-- p_provider_id null: a provider that does not exist yet. p_records: see inventory_write; null: the inventories stay as
-- they are. A record of an unknown class differs. Locks nothing.
-- Plan: keys, and the range of the provider in inventories_pkey.
CREATE OR REPLACE FUNCTION inventory_changes(p_provider_id bigint, p_records jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_changed jsonb;
    v_same bigint;
BEGIN
    IF p_records IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT /* inventory_changes 1/2 */ coalesce(jsonb_agg(item.record ORDER BY item.position)
            FILTER (WHERE had.is_same IS NOT TRUE), '[]'),
        count(*) FILTER (WHERE had.is_same)
    INTO v_changed, v_same
    FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, position)
    LEFT JOIN LATERAL (
        SELECT inventory.total = (item.record ->> 'total')::int AND inventory.reserved = (item.record ->> 'reserved')::int
            AND inventory.min_unit = (item.record ->> 'min_unit')::int
            AND inventory.max_unit = (item.record ->> 'max_unit')::int
            AND inventory.step_size = (item.record ->> 'step_size')::int
            AND inventory.allocation_ratio = (item.record ->> 'allocation_ratio')::float8 AS is_same
        FROM inventories AS inventory
        WHERE inventory.provider_id = p_provider_id
          AND inventory.class_id = (
            SELECT class.id FROM resource_classes AS class WHERE class.name = item.record ->> 'class')
        OFFSET 0
    ) AS had ON true;
    IF v_changed = '[]' AND v_same = (SELECT /* inventory_changes 2/2 */ count(*) FROM inventories AS inventory
        WHERE inventory.provider_id = p_provider_id) THEN
        RETURN NULL;
    END IF;
    RETURN v_changed;
END
$$;
