-- Creates, renames and re-parents the providers of PUT /resource_providers/{uuid}/tree. Returns the id of the root.
--
-- p_root_id null: the root is created. p_changes: see tree_check. All providers are created in one statement in the order
-- of their UUIDs, so that of two requests that create the same tree one waits before its first row.
-- Raises 40001 if a UUID or name was taken since tree_check_values, and 23505 (resource_providers_name_key) if a new
-- name of an existing provider was. Locks: new rows; the caller has locked the others.
CREATE OR REPLACE FUNCTION tree_write_providers(p_root uuid, p_root_id bigint, p_changes jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_made uuid[];
    v_ids bigint[];
    v_written bigint;
    v_root bigint;
    v_change record;
BEGIN
    SELECT /* tree_write_providers 1/6 */ array_agg(new.provider ORDER BY new.request_position),
        array_agg(nextval(pg_get_serial_sequence('resource_providers', 'id')) ORDER BY new.request_position)
    INTO v_made, v_ids
    FROM tree_changes(p_changes) AS new WHERE new.provider_id IS NULL AND NOT new.is_deleted;
    v_root := coalesce(p_root_id, v_ids[array_position(v_made, p_root)]);
    WITH /* tree_write_providers 2/6 */ made AS MATERIALIZED (
        SELECT new.id, new.uuid, change.name, change.parent
        FROM unnest(v_made, v_ids) AS new (uuid, id) JOIN tree_changes(p_changes) AS change ON change.provider = new.uuid
    )
    INSERT INTO resource_providers (id, uuid, name, parent_id, root_id) OVERRIDING SYSTEM VALUE
    SELECT made.id, made.uuid, made.name, coalesce(parent.id, (SELECT existing.id FROM resource_providers AS existing
        WHERE existing.uuid = made.parent)), v_root
    FROM made LEFT JOIN made AS parent ON parent.uuid = made.parent
    ORDER BY made.uuid ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written < cardinality(v_made) THEN
        RAISE EXCEPTION 'providers were created concurrently' USING ERRCODE = '40001';
    END IF;
    -- As in provider_create, a new root has an updated_at.
    INSERT /* tree_write_providers 3/6 */ INTO provider_generations (provider_id, updated_at)
    SELECT new.id, CASE WHEN new.id = v_root THEN now() END FROM unnest(v_ids) AS new (id);

    FOR v_change IN
        SELECT /* tree_write_providers 4/6 */ change.provider_id, change.name, (SELECT parent.id
            FROM resource_providers AS parent WHERE parent.uuid = change.parent) AS parent_id
        FROM tree_changes(p_changes) AS change
        WHERE change.provider_id IS NOT NULL AND (change.name_differs OR change.parent_differs)
        ORDER BY change.provider_id
    LOOP
        UPDATE /* tree_write_providers 5/6 */ resource_providers SET name = v_change.name, parent_id = v_change.parent_id
        WHERE id = v_change.provider_id;
        UPDATE /* tree_write_providers 6/6 */ provider_generations SET updated_at = now()
        WHERE provider_id = v_change.provider_id;
    END LOOP;
    RETURN v_root;
END
$$;
