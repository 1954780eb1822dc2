-- DELETE /resource_providers/{uuid}/inventories: deletes all inventories of the provider.
--
-- p_generation null: do not compare the provider's generation. Returns the new generation.
-- Raises PL001 (no such provider), PL002 (generation) and PL005 (in use). Locks: root, provider.
CREATE OR REPLACE FUNCTION inventory_delete_all_checked(p_provider uuid, p_generation bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
BEGIN
    SELECT /* inventory_delete_all_checked 1/2 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    PERFORM /* inventory_delete_all_checked 2/2 */ inventory_delete_except(p_provider, v_locked.provider_id, '{}');
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;
