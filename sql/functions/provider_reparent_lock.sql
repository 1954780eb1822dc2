-- Locks the two trees of a re-parenting.
--
-- Returns whether the parent changes; false also if the provider or the new parent does not exist, which
-- the caller checks. Locks: the roots of both trees FOR NO KEY UPDATE in the order of their ids, which
-- conflicts with every transaction that adds to the trees (provider_lock_root). Raises 40001 if a tree was
-- re-parented while this waited, as that function does, before it waits for the other root.
CREATE OR REPLACE FUNCTION provider_reparent_lock(p_provider_id bigint, p_parent uuid) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_roots bigint[];
    v_root bigint;
    v_moved bool := false;
    v_same_parent bool;
BEGIN
    SELECT /* provider_reparent_lock 1/4 */ coalesce(array_agg(DISTINCT either.root_id ORDER BY either.root_id),
        '{}'::bigint[]) INTO v_roots
    FROM resource_providers AS either
    WHERE either.id = p_provider_id OR either.uuid = p_parent;
    FOREACH v_root IN ARRAY v_roots LOOP
        SELECT /* provider_reparent_lock 2/4 */ root.root_id <> v_root INTO v_moved
        FROM resource_providers AS root WHERE root.id = v_root FOR NO KEY UPDATE;
        EXIT WHEN v_moved;  -- null if the root was deleted
    END LOOP;
    IF v_moved OR EXISTS (
        SELECT /* provider_reparent_lock 3/4 */ FROM resource_providers AS either
        WHERE (either.id = p_provider_id OR either.uuid = p_parent) AND either.root_id <> ALL (v_roots)
    ) THEN
        RAISE EXCEPTION 'the tree of provider % or % was re-parented concurrently', p_provider_id, p_parent USING ERRCODE = '40001';
    END IF;
    SELECT /* provider_reparent_lock 4/4 */ parent.uuid IS NOT DISTINCT FROM p_parent INTO v_same_parent
    FROM resource_providers AS provider
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = p_provider_id;
    RETURN NOT v_same_parent;
END
$$;
