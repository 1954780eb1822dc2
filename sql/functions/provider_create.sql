-- POST /resource_providers: a new root, or a new child of p_parent.
--
-- Returns the uuid of the tree's root. Raises PL016 (no such parent) and
-- 23505 (resource_providers_name_key or _uuid_key). Locks: the tree's root FOR
-- SHARE, then the parent FOR KEY SHARE, so that it stays. Not idempotent: a second
-- call meets the unique constraints.
CREATE OR REPLACE FUNCTION provider_create(p_uuid uuid, p_name text, p_parent uuid) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
    v_parent bigint;
    v_root bigint;
    v_root_uuid uuid := p_uuid;
BEGIN
    IF p_parent IS NOT NULL THEN
        SELECT parent.id INTO v_parent FROM resource_providers AS parent WHERE parent.uuid = p_parent;
        v_root := lock_root_shared(v_parent);
        PERFORM FROM resource_providers AS parent WHERE parent.id = v_parent FOR KEY SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no resource provider % to be the parent', p_parent USING ERRCODE = 'PL016',
                DETAIL = json_build_object('provider', p_uuid, 'parent', p_parent);
        END IF;
        SELECT root.uuid INTO v_root_uuid FROM resource_providers AS root WHERE root.id = v_root;
    END IF;

    v_id := nextval(pg_get_serial_sequence('resource_providers', 'id'));
    INSERT INTO resource_providers (id, uuid, name, parent_id, root_id) OVERRIDING SYSTEM VALUE
    VALUES (v_id, p_uuid, p_name, v_parent, coalesce(v_root, v_id));
    -- A new root counts as updated at once, a new child does not: clients see
    -- it in the last-modified header of their first rename.
    INSERT INTO provider_generations (provider_id, updated_at)
    VALUES (v_id, CASE WHEN v_parent IS NULL THEN now() END);
    RETURN v_root_uuid;
END
$$;
