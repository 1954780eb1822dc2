-- PUT /resource_providers/{uuid}/inventories: replaces all inventories of the provider.
--
-- p_records: see inventory_write; p_min_capacity: see inventory_check_capacity.
-- Returns the new generation. Raises, in this order: PL001 (no such provider), PL002 (generation), PL006
-- (reserved), PL004 (unknown class), PL005 (a dropped class is in use). Locks: root, provider.
CREATE OR REPLACE FUNCTION inventory_replace(
    p_provider uuid, p_generation bigint, p_records jsonb, p_min_capacity int
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
BEGIN
    SELECT /* inventory_replace 1/4 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    PERFORM /* inventory_replace 2/4 */ inventory_check_capacity(p_provider, p_records, p_min_capacity);
    PERFORM /* inventory_replace 3/4 */ inventory_write(v_locked.provider_id, v_locked.root_id, p_records);
    PERFORM /* inventory_replace 4/4 */ inventory_delete_except(p_provider, v_locked.provider_id,
        inventory_names(p_records));
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;
