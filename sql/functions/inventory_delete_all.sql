-- DELETE /resource_providers/{uuid}/inventories: deletes all inventories of the provider.
--
-- Returns the new generation. Raises PL001 (no such provider) and PL005 (in use). Locks: root, provider.
CREATE OR REPLACE FUNCTION inventory_delete_all(p_provider uuid) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
BEGIN
    SELECT /* inventory_delete_all 1/2 */ * INTO v_locked FROM provider_lock(p_provider, NULL, true, false);
    PERFORM /* inventory_delete_all 2/2 */ inventory_delete_except(p_provider, v_locked.provider_id, '{}');
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;
