-- PUT /resource_providers/{uuid}/inventories: exactly these inventories.
--
-- p_records: see inventory_write; p_min_capacity: see inventory_check_capacity.
-- Returns the new generation. Raises, in this order: PL001 (no such provider),
-- PL002 (generation), PL006 (reserved), PL004 (unknown class), PL005 (a dropped
-- class is in use). Locks: root FOR SHARE, provider.
CREATE OR REPLACE FUNCTION inventory_replace(
    p_provider uuid, p_generation bigint, p_records jsonb, p_min_capacity int
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_held record;
BEGIN
    SELECT * INTO v_held FROM lock_provider(p_provider, p_generation, true, false);
    PERFORM inventory_check_capacity(p_provider, p_records, p_min_capacity);
    PERFORM inventory_write(v_held.provider_id, v_held.root_id, p_records);
    PERFORM inventory_drop_others(p_provider, v_held.provider_id, inventory_names(p_records));
    RETURN bump_provider(v_held.provider_id);
END
$$;
