-- PUT /resource_providers/{uuid}: sets the name and, if p_set_parent, the parent.
--
-- p_may_reparent: microversion 1.37 allows re-parenting and un-parenting.
-- Returns the provider after the update, and updated_at before it. A call that changes nothing does not set
-- updated_at.
-- Raises PL001 (no such provider), PL016 (no such parent), PL017 (un-parenting), PL018 (re-parenting),
-- PL019 (parent cycle), 23505 (resource_providers_name_key).
-- A provider or parent that another transaction creates while this one waits for a lock does not exist for it: the
-- locks are those of the rows that existed at the start.
-- Locks: to re-parent both roots FOR NO KEY UPDATE in the order of their ids, then the rows of the subtree
-- and their inventories. Idempotent.
-- Calls, to change the parent: provider_reparent_lock, provider_reparent_check, provider_reparent.
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
    SELECT /* provider_update 1/9 */
        (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = p_uuid),
        (SELECT parent.id FROM resource_providers AS parent WHERE parent.uuid = p_parent)
    INTO v_id, v_parent;
    IF p_set_parent THEN
        v_moves := provider_reparent_lock(v_id, p_parent);
    END IF;

    SELECT /* provider_update 2/9 */ provider.id, provider.parent_id INTO v_id, v_old_parent
    FROM resource_providers AS provider WHERE provider.id = v_id FOR NO KEY UPDATE;
    IF v_id IS NULL THEN
        RAISE EXCEPTION 'no resource provider %', p_uuid USING ERRCODE = 'PL001',
            DETAIL = json_build_object('provider', p_uuid);
    END IF;
    IF v_moves THEN
        SELECT /* provider_update 3/9 */ parent.id INTO v_parent FROM resource_providers AS parent
        WHERE parent.id = v_parent;
        PERFORM /* provider_update 4/9 */ provider_reparent_check(p_uuid, v_id, v_old_parent, p_parent, v_parent,
            p_may_reparent);
        PERFORM /* provider_update 5/9 */ provider_reparent(v_id, v_parent);
    END IF;

    UPDATE /* provider_update 6/9 */ resource_providers SET name = p_name WHERE id = v_id AND name <> p_name;
    v_renamed := FOUND;
    SELECT /* provider_update 7/9 */ generation_row.generation, generation_row.updated_at INTO generation,
        updated_before
    FROM provider_generations AS generation_row WHERE generation_row.provider_id = v_id FOR NO KEY UPDATE;
    UPDATE /* provider_update 8/9 */ provider_generations SET updated_at = now()
    WHERE provider_id = v_id AND (v_moves OR v_renamed);

    SELECT /* provider_update 9/9 */ parent.uuid, root.uuid INTO parent_uuid, root_uuid
    FROM resource_providers AS provider
    JOIN resource_providers AS root ON root.id = provider.root_id
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = v_id;
END
$$;
