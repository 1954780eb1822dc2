-- Locks the row of a provider: p_strength 1 FOR KEY SHARE (a parent), 2 FOR NO KEY UPDATE, 3 FOR UPDATE (to delete it).
--
-- The caller has locked the root of its tree.
CREATE OR REPLACE FUNCTION tree_lock_provider(p_provider_id bigint, p_strength int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p_strength = 1 THEN
        PERFORM /* tree_lock_provider 1/3 */ FROM resource_providers AS provider
        WHERE provider.id = p_provider_id FOR KEY SHARE;
    ELSIF p_strength = 2 THEN
        PERFORM /* tree_lock_provider 2/3 */ FROM resource_providers AS provider
        WHERE provider.id = p_provider_id FOR NO KEY UPDATE;
    ELSE
        PERFORM /* tree_lock_provider 3/3 */ FROM resource_providers AS provider
        WHERE provider.id = p_provider_id FOR UPDATE;
    END IF;
END
$$;
