-- Locks the trees between which a provider is about to move.
--
-- Returns whether the parent really changes; false also where the provider or
-- the new parent does not exist: the caller's checks say so. Locks: the roots of
-- both trees FOR NO KEY UPDATE, in id order, against everyone who adds to the
-- trees (lock_root_shared); starts over if a tree was moved while it waited.
CREATE OR REPLACE FUNCTION provider_lock_move(p_provider_id bigint, p_parent uuid) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_locked bigint[];
    v_roots bigint[];
    v_same_parent bool;
BEGIN
    LOOP
        SELECT array_agg(DISTINCT either.root_id ORDER BY either.root_id) INTO v_roots
        FROM resource_providers AS either
        WHERE either.id = p_provider_id OR either.uuid = p_parent;
        EXIT WHEN v_roots IS NULL OR v_roots = v_locked;
        PERFORM FROM resource_providers AS root WHERE root.id = ANY (v_roots) ORDER BY root.id FOR NO KEY UPDATE;
        v_locked := v_roots;
    END LOOP;
    SELECT parent.uuid IS NOT DISTINCT FROM p_parent INTO v_same_parent
    FROM resource_providers AS provider
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = p_provider_id;
    RETURN NOT v_same_parent;
END
$$;
