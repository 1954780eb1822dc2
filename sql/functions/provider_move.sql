-- Hangs a provider below another parent (null: makes it a root) and gives its
-- whole subtree the new root. The caller holds both roots, has checked that no loop
-- comes of it, and notes when the provider itself was changed; for those below it,
-- where the root is another, this does. Locks: the subtree's rows in
-- resource_providers, then those in provider_generations, both FOR NO KEY UPDATE in
-- id order: a renaming takes the two in this order too, and whoever writes
-- inventories holds the second.
CREATE OR REPLACE FUNCTION provider_move(p_provider_id bigint, p_parent_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_root bigint := p_provider_id;
    v_subtree bigint[];
BEGIN
    IF p_parent_id IS NOT NULL THEN
        SELECT parent.root_id INTO v_root FROM resource_providers AS parent WHERE parent.id = p_parent_id;
    END IF;
    WITH RECURSIVE subtree AS (
        SELECT p_provider_id AS id
        UNION  -- ends at the leaves, and where parents were put in a circle by hand
        SELECT child.id FROM subtree AS above JOIN resource_providers AS child ON child.parent_id = above.id
    )
    SELECT array_agg(subtree.id ORDER BY subtree.id) INTO v_subtree FROM subtree;

    PERFORM FROM resource_providers AS provider
    WHERE provider.id = ANY (v_subtree) ORDER BY provider.id FOR NO KEY UPDATE;
    PERFORM FROM provider_generations AS held
    WHERE held.provider_id = ANY (v_subtree) ORDER BY held.provider_id FOR NO KEY UPDATE;
    UPDATE provider_generations AS held SET updated_at = now()
    FROM resource_providers AS below
    WHERE below.id = ANY (v_subtree) AND below.id <> p_provider_id AND below.root_id <> v_root
      AND held.provider_id = below.id;
    UPDATE resource_providers AS provider
    SET root_id = v_root,
        parent_id = CASE WHEN provider.id = p_provider_id THEN p_parent_id ELSE provider.parent_id END
    WHERE provider.id = ANY (v_subtree);
    UPDATE inventories SET root_id = v_root WHERE provider_id = ANY (v_subtree);
END
$$;
