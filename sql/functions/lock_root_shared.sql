-- Locks the root of a provider's tree against re-parenting and says which it is.
--
-- Whoever copies a root's id (into a child, into an inventory) calls this first.
-- Null if there is no such provider. Locks: the root's row in resource_providers,
-- FOR SHARE. Locking and looking are separate statements: the tree may have been
-- moved while this one waited, and then it starts over.
CREATE OR REPLACE FUNCTION lock_root_shared(p_provider_id bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked bigint;
    v_root bigint;
BEGIN
    LOOP
        SELECT provider.root_id INTO v_root FROM resource_providers AS provider WHERE provider.id = p_provider_id;
        IF v_root IS NULL OR v_root = v_locked THEN
            RETURN v_root;
        END IF;
        PERFORM FROM resource_providers AS root WHERE root.id = v_root FOR SHARE;
        v_locked := v_root;
    END LOOP;
END
$$;
