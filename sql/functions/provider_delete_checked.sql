-- DELETE /resource_providers/{uuid}: deletes the provider with its inventories, traits and aggregate
-- memberships.
--
-- p_generation null: do not compare the provider's generation.
-- Raises PL001 (no such provider), PL002 (generation), PL014 (has children), PL015 (has allocations), and 40001
-- if a root got a parent while this waited for its lock: the new root is not locked. Locks: a child's root FOR
-- NO KEY UPDATE, the provider's row and its row in provider_generations FOR UPDATE.
CREATE OR REPLACE FUNCTION provider_delete_checked(p_uuid uuid, p_generation bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
    v_root bigint;
    v_rule text;
    v_generation bigint;
BEGIN
    SELECT /* provider_delete_checked 1/8 */ provider.id INTO v_id FROM resource_providers AS provider
    WHERE provider.uuid = p_uuid;
    -- Lock a root FOR UPDATE at once: a deletion that had locked it FOR NO KEY UPDATE would
    -- deadlock with a transaction that has locked it FOR KEY SHARE and waits for that lock.
    IF EXISTS (SELECT /* provider_delete_checked 2/8 */ FROM resource_providers AS provider
        WHERE provider.id = v_id AND provider.parent_id IS NOT NULL) THEN
        v_root := provider_lock_root(v_id);
    END IF;
    PERFORM /* provider_delete_checked 3/8 */ FROM resource_providers AS provider WHERE provider.id = v_id FOR UPDATE;
    SELECT /* provider_delete_checked 4/8 */ generation_row.generation INTO v_generation
    FROM provider_generations AS generation_row WHERE generation_row.provider_id = v_id FOR UPDATE;
    IF EXISTS (SELECT /* provider_delete_checked 5/8 */ FROM resource_providers AS provider
        WHERE provider.id = v_id AND provider.root_id <> coalesce(v_root, v_id)) THEN
        RAISE EXCEPTION 'provider % was re-parented concurrently', p_uuid USING ERRCODE = '40001';
    END IF;

    PERFORM /* provider_delete_checked 6/8 */ provider_check_generation(p_uuid, v_generation, p_generation);
    v_rule := CASE
        WHEN NOT EXISTS (SELECT /* provider_delete_checked 7/8 */ FROM resource_providers AS provider
            WHERE provider.id = v_id) THEN 'PL001'
        WHEN EXISTS (SELECT FROM resource_providers AS child WHERE child.parent_id = v_id) THEN 'PL014'
        WHEN EXISTS (SELECT FROM allocations AS allocation WHERE allocation.provider_id = v_id) THEN 'PL015'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'provider % cannot be deleted', p_uuid USING ERRCODE = v_rule,
            DETAIL = json_build_object('provider', p_uuid);
    END IF;

    -- One statement: the triggers that copy traits and aggregates find no row to write
    -- (the header of provider_traits_denormalize explains why).
    WITH /* provider_delete_checked 8/8 */ inventory AS (
        DELETE FROM inventories WHERE provider_id = v_id
    ), trait AS (
        DELETE FROM provider_traits WHERE provider_id = v_id
    ), aggregate AS (
        DELETE FROM provider_aggregates WHERE provider_id = v_id
    ), generation AS (
        DELETE FROM provider_generations WHERE provider_id = v_id
    )
    DELETE FROM resource_providers WHERE id = v_id;
END
$$;
