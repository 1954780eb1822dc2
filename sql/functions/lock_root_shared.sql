-- Locks the root of a provider's tree against re-parenting and says which it is.
--
-- Whoever copies a root's id (into a child, into an inventory) calls this first.
-- Null if there is no such provider. Locks: the root's row in resource_providers,
-- FOR SHARE. Raises 40001 if the tree was moved while this waited: the lock it has
-- then is one that nobody expects it to have, and stays until the transaction ends,
-- so the whole write begins again.
CREATE OR REPLACE FUNCTION lock_root_shared(p_provider_id bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_root bigint;
    v_roots_root bigint;
    v_now bigint;
BEGIN
    LOOP
        SELECT provider.root_id INTO v_root FROM resource_providers AS provider WHERE provider.id = p_provider_id;
        EXIT WHEN v_root IS NULL;
        SELECT root.root_id INTO v_roots_root FROM resource_providers AS root WHERE root.id = v_root FOR SHARE;
        EXIT WHEN FOUND;  -- else the root is gone, and nothing is locked
    END LOOP;
    -- Locking and looking are separate statements: this one sees what was done
    -- while the other waited.
    SELECT provider.root_id INTO v_now FROM resource_providers AS provider WHERE provider.id = p_provider_id;
    IF v_roots_root <> v_root OR v_now <> v_root THEN
        RAISE EXCEPTION 'the tree of provider % has been moved', p_provider_id USING ERRCODE = '40001';
    END IF;
    RETURN v_now;
END
$$;
