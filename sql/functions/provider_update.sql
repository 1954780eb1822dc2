-- PUT /resource_providers/{uuid}: new name and, if p_set_parent, new parent.
--
-- p_may_reparent: microversion 1.37 allows moving and un-parenting children.
-- Returns the provider as it is afterwards, and updated_at as it was before; what
-- changes nothing leaves that as it is.
-- Raises PL001 (no such provider), PL016 (no such parent), PL017 (un-parenting),
-- PL018 (re-parenting), PL019 (loop), 23505 (resource_providers_name_key).
-- Locks: for a move both roots FOR NO KEY UPDATE in id order, then the rows of
-- the moved subtree and their inventories. Idempotent.
CREATE OR REPLACE FUNCTION provider_update(
    p_uuid uuid, p_name text, p_set_parent bool, p_parent uuid, p_may_reparent bool,
    OUT generation bigint, OUT parent_uuid uuid, OUT root_uuid uuid, OUT updated_before timestamptz
)
LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
    v_old_parent bigint;
    v_parent bigint;
    v_moves bool := false;
    v_renamed bool;
BEGIN
    SELECT provider.id INTO v_id FROM resource_providers AS provider WHERE provider.uuid = p_uuid;
    IF p_set_parent THEN
        v_moves := provider_lock_move(v_id, p_parent);
    END IF;

    SELECT provider.id, provider.parent_id INTO v_id, v_old_parent
    FROM resource_providers AS provider WHERE provider.uuid = p_uuid FOR NO KEY UPDATE;
    IF v_id IS NULL THEN
        RAISE EXCEPTION 'no resource provider %', p_uuid USING ERRCODE = 'PL001',
            DETAIL = json_build_object('provider', p_uuid);
    END IF;
    IF v_moves THEN
        SELECT parent.id INTO v_parent FROM resource_providers AS parent WHERE parent.uuid = p_parent;
        PERFORM provider_check_move(p_uuid, v_id, v_old_parent, p_parent, v_parent, p_may_reparent);
        PERFORM provider_move(v_id, v_parent);
    END IF;

    UPDATE resource_providers SET name = p_name WHERE id = v_id AND name <> p_name;
    v_renamed := FOUND;
    SELECT held.generation, held.updated_at INTO generation, updated_before
    FROM provider_generations AS held WHERE held.provider_id = v_id FOR NO KEY UPDATE;
    UPDATE provider_generations SET updated_at = now() WHERE provider_id = v_id AND (v_moves OR v_renamed);

    SELECT parent.uuid, root.uuid INTO parent_uuid, root_uuid
    FROM resource_providers AS provider
    JOIN resource_providers AS root ON root.id = provider.root_id
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = v_id;
END
$$;
