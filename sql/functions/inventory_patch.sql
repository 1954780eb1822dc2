-- PATCH /resource_providers/{uuid}/inventories: changes, adds and removes inventories of the provider.
--
-- p_generation null: do not compare the provider's generation. p_records: see inventory_merge; p_removed: names of the
-- classes to remove; names that do not exist are ignored. p_min_capacity: see inventory_check_capacity.
-- Increments the generation only if something changes. Returns the generation and all inventories afterwards, with
-- the id of the class as position; without inventories one row whose class is empty.
-- Raises, in this order: PL001 (no such provider), PL002 (generation), PL076 (no total), PL006 (reserved), PL004
-- (unknown class), PL005 (a removed class is in use). Records that do not change are not checked.
-- Locks: root, provider. Idempotent without a generation.
-- Calls: provider_lock, inventory_merge, inventory_check_capacity, inventory_write, inventory_delete_except,
-- provider_bump_generation.
CREATE OR REPLACE FUNCTION inventory_patch(
    p_provider uuid, p_generation bigint, p_records jsonb, p_removed text[], p_min_capacity int
) RETURNS TABLE (
    shown_generation bigint, shown_position int, shown_class text, shown_total int, shown_reserved int,
    shown_min_unit int, shown_max_unit int, shown_step_size int, shown_ratio float8
)
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
    v_changed jsonb;
    v_before text[];
    v_kept text[];
BEGIN
    SELECT /* inventory_patch 1/6 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    v_changed := inventory_merge(p_provider, v_locked.provider_id, p_records);
    PERFORM /* inventory_patch 2/6 */ inventory_check_capacity(p_provider, v_changed, p_min_capacity);
    IF v_changed <> '[]' THEN
        PERFORM /* inventory_patch 3/6 */ inventory_write(v_locked.provider_id, v_locked.root_id, v_changed);
    END IF;
    SELECT /* inventory_patch 4/6 */ coalesce(array_agg(class.name), '{}'),
        coalesce(array_agg(class.name) FILTER (WHERE class.name <> ALL (p_removed)), '{}')
    INTO v_before, v_kept
    FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
    WHERE inventory.provider_id = v_locked.provider_id;
    IF cardinality(v_kept) < cardinality(v_before) THEN
        PERFORM /* inventory_patch 5/6 */ inventory_delete_except(p_provider, v_locked.provider_id, v_kept);
    END IF;
    IF v_changed <> '[]' OR cardinality(v_kept) < cardinality(v_before) THEN
        v_locked.generation := provider_bump_generation(v_locked.provider_id);
    END IF;
    RETURN QUERY SELECT /* inventory_patch 6/6 */ v_locked.generation, coalesce(inventory.class_id, -1),
        coalesce(class.name, ''), coalesce(inventory.total, 0), coalesce(inventory.reserved, 0),
        coalesce(inventory.min_unit, 0), coalesce(inventory.max_unit, 0), coalesce(inventory.step_size, 0),
        coalesce(inventory.allocation_ratio, 0)
    FROM (SELECT v_locked.provider_id AS id) AS provider
    LEFT JOIN inventories AS inventory ON inventory.provider_id = provider.id
    LEFT JOIN resource_classes AS class ON class.id = inventory.class_id;
END
$$;
