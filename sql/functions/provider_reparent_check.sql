-- Rejects a change of parent that the API does not allow.
--
-- Raises, in this order: PL016 (the new parent does not exist), PL017 (un-parenting before 1.37), PL018
-- (re-parenting before 1.37), PL019 (the new parent is the provider itself or a descendant of it). The
-- caller has locked both roots.
CREATE OR REPLACE FUNCTION provider_reparent_check(
    p_uuid uuid, p_provider_id bigint, p_old_parent_id bigint, p_parent uuid, p_parent_id bigint, p_may_reparent bool
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_rule text;
    v_loop bool;
BEGIN
    WITH /* provider_reparent_check 1/1 */ RECURSIVE ancestors AS (
        SELECT provider.id, provider.parent_id FROM resource_providers AS provider WHERE provider.id = p_parent_id
        UNION  -- ends at the root, and at a parent cycle that was made by hand
        SELECT parent.id, parent.parent_id
        FROM ancestors AS child JOIN resource_providers AS parent ON parent.id = child.parent_id
    )
    SELECT count(*) > 0 INTO v_loop FROM ancestors WHERE ancestors.id = p_provider_id;

    v_rule := CASE
        WHEN p_parent IS NOT NULL AND p_parent_id IS NULL THEN 'PL016'
        WHEN p_old_parent_id IS NOT NULL AND NOT p_may_reparent AND p_parent IS NULL THEN 'PL017'
        WHEN p_old_parent_id IS NOT NULL AND NOT p_may_reparent THEN 'PL018'
        WHEN v_loop THEN 'PL019'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'provider % cannot be re-parented to %', p_uuid, coalesce(p_parent::text, 'nothing')
            USING ERRCODE = v_rule, DETAIL = json_build_object('provider', p_uuid, 'parent', p_parent);
    END IF;
END
$$;
