-- Changes the parent of a provider (null: makes it a root) and sets the new root of its whole subtree.
--
-- The caller has locked both roots and has checked that no parent cycle results. The caller sets updated_at
-- of the provider itself; this function sets it for the descendants whose root changes. No trigger counts
-- the inventories that it moves: a trigger on updates of inventories would run for every claim. It
-- sets root_id in inventories, traits and memberships. Calls
-- tree_class_add for each class of the subtree, for the old and the new root. Locks: the
-- subtree's rows in resource_providers, then those in provider_generations, both FOR NO KEY UPDATE in the
-- order of their ids: a rename locks the two in this order too, and writers of inventories lock the second.
CREATE OR REPLACE FUNCTION provider_reparent(p_provider_id bigint, p_parent_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_root bigint := p_provider_id;
    v_subtree bigint[];
    v_moved record;
BEGIN
    IF p_parent_id IS NOT NULL THEN
        SELECT /* provider_reparent 1/12 */ parent.root_id INTO v_root FROM resource_providers AS parent
        WHERE parent.id = p_parent_id;
    END IF;
    WITH /* provider_reparent 2/12 */ RECURSIVE subtree AS (
        SELECT p_provider_id AS id
        UNION  -- ends at the leaves, and at a parent cycle that was made by hand
        SELECT child.id FROM subtree AS parent JOIN resource_providers AS child ON child.parent_id = parent.id
    )
    SELECT array_agg(subtree.id ORDER BY subtree.id) INTO v_subtree FROM subtree;

    PERFORM /* provider_reparent 3/12 */ FROM resource_providers AS provider
    WHERE provider.id = ANY (v_subtree) ORDER BY provider.id FOR NO KEY UPDATE;
    PERFORM /* provider_reparent 4/12 */ FROM provider_generations AS generation_row
    WHERE generation_row.provider_id = ANY (v_subtree) ORDER BY generation_row.provider_id FOR NO KEY UPDATE;
    UPDATE /* provider_reparent 5/12 */ provider_generations AS generation_row SET updated_at = now()
    FROM resource_providers AS descendant
    WHERE descendant.id = ANY (v_subtree) AND descendant.id <> p_provider_id AND descendant.root_id <> v_root
      AND generation_row.provider_id = descendant.id;
    UPDATE /* provider_reparent 6/12 */ resource_providers AS provider
    SET root_id = v_root,
        parent_id = CASE WHEN provider.id = p_provider_id THEN p_parent_id ELSE provider.parent_id END
    WHERE provider.id = ANY (v_subtree);
    FOR v_moved IN SELECT /* provider_reparent 7/12 */ inventory.root_id, inventory.class_id, count(*)::int AS providers
        FROM inventories AS inventory WHERE inventory.provider_id = ANY (v_subtree) AND inventory.root_id <> v_root
        GROUP BY inventory.root_id, inventory.class_id LOOP
        PERFORM /* provider_reparent 8/12 */ tree_class_add(v_moved.root_id, v_moved.class_id, -v_moved.providers);
        PERFORM /* provider_reparent 9/12 */ tree_class_add(v_root, v_moved.class_id, v_moved.providers);
    END LOOP;
    UPDATE /* provider_reparent 10/12 */ inventories SET root_id = v_root WHERE provider_id = ANY (v_subtree);
    UPDATE /* provider_reparent 11/12 */ provider_traits SET root_id = v_root WHERE provider_id = ANY (v_subtree) AND root_id <> v_root;
    UPDATE /* provider_reparent 12/12 */ provider_aggregates SET root_id = v_root WHERE provider_id = ANY (v_subtree) AND root_id <> v_root;
END
$$;
