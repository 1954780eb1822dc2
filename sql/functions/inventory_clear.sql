-- DELETE /resource_providers/{uuid}/inventories: none at all.
--
-- Returns the new generation. Raises PL001 (no such provider) and PL005 (in
-- use). Locks: provider.
CREATE OR REPLACE FUNCTION inventory_clear(p_provider uuid) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_held record;
BEGIN
    SELECT * INTO v_held FROM lock_provider(p_provider, NULL, false, false);
    PERFORM inventory_drop_others(p_provider, v_held.provider_id, '{}');
    RETURN bump_provider(v_held.provider_id);
END
$$;
