-- Locks the trees between which a provider is about to move.
--
-- Returns whether the parent really changes; false also where the provider or
-- the new parent does not exist: the caller's checks say so. Locks: the roots of
-- both trees FOR NO KEY UPDATE, in id order, against everyone who adds to the
-- trees (lock_root_shared). Raises 40001 if a tree was moved while this waited, as
-- that function does, and before it waits for the other.
CREATE OR REPLACE FUNCTION provider_lock_move(p_provider_id bigint, p_parent uuid) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_roots bigint[];
    v_root bigint;
    v_moved bool := false;
    v_same_parent bool;
BEGIN
    SELECT coalesce(array_agg(DISTINCT either.root_id ORDER BY either.root_id), '{}'::bigint[]) INTO v_roots
    FROM resource_providers AS either
    WHERE either.id = p_provider_id OR either.uuid = p_parent;
    FOREACH v_root IN ARRAY v_roots LOOP
        SELECT root.root_id <> v_root INTO v_moved
        FROM resource_providers AS root WHERE root.id = v_root FOR NO KEY UPDATE;
        EXIT WHEN v_moved;  -- null if it is gone
    END LOOP;
    IF v_moved OR EXISTS (
        SELECT FROM resource_providers AS either
        WHERE (either.id = p_provider_id OR either.uuid = p_parent) AND either.root_id <> ALL (v_roots)
    ) THEN
        RAISE EXCEPTION 'the tree of provider % or % has been moved', p_provider_id, p_parent USING ERRCODE = '40001';
    END IF;
    SELECT parent.uuid IS NOT DISTINCT FROM p_parent INTO v_same_parent
    FROM resource_providers AS provider
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = p_provider_id;
    RETURN NOT v_same_parent;
END
$$;
