-- PUT /resource_providers/{uuid}: sets the name and, if p_set_parent, the parent.
--
-- p_generation null: do not compare the provider's generation. p_may_reparent: microversion 1.37 allows
-- re-parenting and un-parenting.
-- Returns the provider after the update, and updated_at before it. A call that changes nothing does not set
-- updated_at.
-- Raises, in this order: PL001 (no such provider), PL002 (generation), PL016 (no such parent), PL017
-- (un-parenting), PL018 (re-parenting), PL019 (parent cycle), 23505 (resource_providers_name_key).
-- A provider or parent that another transaction creates while this one waits for a lock does not exist for it: the
-- locks are those of the rows that existed at the start.
-- Locks: to re-parent both roots FOR NO KEY UPDATE in the order of their ids, then the rows of the subtree
-- and their inventories. Idempotent.
-- Calls: provider_check_generation; to change the parent, provider_reparent_lock, provider_reparent_check, provider_reparent.
CREATE OR REPLACE FUNCTION provider_update_checked(
    p_uuid uuid, p_generation bigint, p_name text, p_set_parent bool, p_parent uuid, p_may_reparent bool,
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
    SELECT /* provider_update_checked 1/12 */
        (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = p_uuid),
        (SELECT parent.id FROM resource_providers AS parent WHERE parent.uuid = p_parent)
    INTO v_id, v_parent;
    IF p_set_parent THEN
        v_moves := provider_reparent_lock(v_id, p_parent);
    END IF;

    SELECT /* provider_update_checked 2/12 */ provider.id, provider.parent_id INTO v_id, v_old_parent
    FROM resource_providers AS provider WHERE provider.id = v_id FOR NO KEY UPDATE;
    IF v_id IS NULL THEN
        RAISE EXCEPTION 'no resource provider %', p_uuid USING ERRCODE = 'PL001',
            DETAIL = json_build_object('provider', p_uuid);
    END IF;
    -- The lock of the generation follows those of the subtree, and a different generation precedes errors of the
    -- parent and the name. So it is compared twice: before the writes without a lock, and after them with one.
    SELECT /* provider_update_checked 3/12 */ generation_row.generation INTO generation
    FROM provider_generations AS generation_row WHERE generation_row.provider_id = v_id;
    PERFORM /* provider_update_checked 4/12 */ provider_check_generation(p_uuid, generation, p_generation);
    IF v_moves THEN
        SELECT /* provider_update_checked 5/12 */ parent.id INTO v_parent FROM resource_providers AS parent
        WHERE parent.id = v_parent;
        PERFORM /* provider_update_checked 6/12 */ provider_reparent_check(p_uuid, v_id, v_old_parent, p_parent, v_parent,
            p_may_reparent);
        PERFORM /* provider_update_checked 7/12 */ provider_reparent(v_id, v_parent);
    END IF;

    UPDATE /* provider_update_checked 8/12 */ resource_providers SET name = p_name WHERE id = v_id AND name <> p_name;
    v_renamed := FOUND;
    SELECT /* provider_update_checked 9/12 */ generation_row.generation, generation_row.updated_at INTO generation,
        updated_before
    FROM provider_generations AS generation_row WHERE generation_row.provider_id = v_id FOR NO KEY UPDATE;
    UPDATE /* provider_update_checked 10/12 */ provider_generations SET updated_at = now()
    WHERE provider_id = v_id AND (v_moves OR v_renamed);
    PERFORM /* provider_update_checked 11/12 */ provider_check_generation(p_uuid, generation, p_generation);

    SELECT /* provider_update_checked 12/12 */ parent.uuid, root.uuid INTO parent_uuid, root_uuid
    FROM resource_providers AS provider
    JOIN resource_providers AS root ON root.id = provider.root_id
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = v_id;
END
$$;
