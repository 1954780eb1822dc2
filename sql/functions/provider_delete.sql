-- DELETE /resource_providers/{uuid}: the provider with its inventories, traits
-- and aggregate memberships.
--
-- Raises PL001 (no such provider), PL014 (has children), PL015 (has
-- allocations). Locks: a child's root FOR SHARE, the provider's row and its
-- row in provider_generations FOR UPDATE.
CREATE OR REPLACE FUNCTION provider_delete(p_uuid uuid) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
    v_rule text;
BEGIN
    SELECT provider.id INTO v_id FROM resource_providers AS provider WHERE provider.uuid = p_uuid;
    -- A root is locked for deletion at once: two deletions that both held it
    -- FOR SHARE would wait for each other.
    IF EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = v_id AND provider.parent_id IS NOT NULL) THEN
        PERFORM lock_root_shared(v_id);
    END IF;
    PERFORM FROM resource_providers AS provider WHERE provider.id = v_id FOR UPDATE;
    PERFORM FROM provider_generations AS held WHERE held.provider_id = v_id FOR UPDATE;

    v_rule := CASE
        WHEN NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = v_id) THEN 'PL001'
        WHEN EXISTS (SELECT FROM resource_providers AS child WHERE child.parent_id = v_id) THEN 'PL014'
        WHEN EXISTS (SELECT FROM allocations AS taken WHERE taken.provider_id = v_id) THEN 'PL015'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'provider % cannot be deleted', p_uuid USING ERRCODE = v_rule,
            DETAIL = json_build_object('provider', p_uuid);
    END IF;

    DELETE FROM inventories WHERE provider_id = v_id;
    DELETE FROM provider_traits WHERE provider_id = v_id;
    DELETE FROM provider_aggregates WHERE provider_id = v_id;
    DELETE FROM provider_generations WHERE provider_id = v_id;
    DELETE FROM resource_providers WHERE id = v_id;
END
$$;
