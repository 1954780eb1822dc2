-- Locks the root of a provider's tree against re-parenting and returns its id, or null if there is no such
-- provider.
--
-- Every function that copies the id of a root (into a child or an inventory), or that inserts or deletes
-- inventories, calls this first. Locks: the root's row in resource_providers, FOR NO KEY UPDATE. Writers of
-- the inventories of one tree wait for each other here. With FOR SHARE, two writers of different providers
-- of a tree would deadlock on its rows in tree_classes. Raises 40001 if the tree was re-parented while this
-- waited: the transaction then holds a lock outside of the lock order until it ends, so the store retries
-- the whole write.
CREATE OR REPLACE FUNCTION provider_lock_root(p_provider_id bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_root bigint;
    v_roots_root bigint;
    v_now bigint;
BEGIN
    LOOP
        SELECT /* provider_lock_root 1/3 */ provider.root_id INTO v_root FROM resource_providers AS provider
        WHERE provider.id = p_provider_id;
        EXIT WHEN v_root IS NULL;
        SELECT /* provider_lock_root 2/3 */ root.root_id INTO v_roots_root FROM resource_providers AS root
        WHERE root.id = v_root FOR NO KEY UPDATE;
        EXIT WHEN FOUND;  -- otherwise the root was deleted, and nothing is locked
    END LOOP;
    -- A statement of its own, so that its snapshot includes what was committed
    -- while the one before it waited for the lock.
    SELECT /* provider_lock_root 3/3 */ provider.root_id INTO v_now FROM resource_providers AS provider
    WHERE provider.id = p_provider_id;
    IF v_roots_root <> v_root OR v_now <> v_root THEN
        RAISE EXCEPTION 'the tree of provider % was re-parented concurrently', p_provider_id USING ERRCODE = '40001';
    END IF;
    RETURN v_now;
END
$$;
