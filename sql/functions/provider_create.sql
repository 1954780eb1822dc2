-- POST /resource_providers: creates a root, or a child of p_parent.
--
-- Returns the UUID of the tree's root. Raises PL016 (no such parent) and 23505 (resource_providers_name_key
-- or _uuid_key). Locks: the tree's root FOR NO KEY UPDATE, then the parent FOR KEY SHARE, so that it is
-- not deleted. Not idempotent: a second call violates the unique constraints.
CREATE OR REPLACE FUNCTION provider_create(p_uuid uuid, p_name text, p_parent uuid) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
    v_parent bigint;
    v_root bigint;
    v_root_uuid uuid := p_uuid;
BEGIN
    IF p_parent IS NOT NULL THEN
        SELECT /* provider_create 1/5 */ parent.id INTO v_parent FROM resource_providers AS parent
        WHERE parent.uuid = p_parent;
        v_root := provider_lock_root(v_parent);
        PERFORM /* provider_create 2/5 */ FROM resource_providers AS parent WHERE parent.id = v_parent FOR KEY SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no resource provider % for parent', p_parent USING ERRCODE = 'PL016',
                DETAIL = json_build_object('provider', p_uuid, 'parent', p_parent);
        END IF;
        SELECT /* provider_create 3/5 */ root.uuid INTO v_root_uuid FROM resource_providers AS root
        WHERE root.id = v_root;
    END IF;

    v_id := nextval(pg_get_serial_sequence('resource_providers', 'id'));
    INSERT /* provider_create 4/5 */ INTO resource_providers (id, uuid, name, parent_id,
        root_id) OVERRIDING SYSTEM VALUE
    VALUES (v_id, p_uuid, p_name, v_parent, coalesce(v_root, v_id));
    -- A new root has an updated_at, a new child has none: clients see
    -- this in the last-modified header of their first rename.
    INSERT /* provider_create 5/5 */ INTO provider_generations (provider_id, updated_at)
    VALUES (v_id, CASE WHEN v_parent IS NULL THEN now() END);
    RETURN v_root_uuid;
END
$$;
