-- Trigger: maintains tree_classes, the number of providers of a tree with an inventory of a class.
--
-- Runs after every statement that inserts or deletes inventories, also in bulk. Claims update inventories
-- and therefore do not run it; provider_reparent, which updates root_id, counts by itself. The caller has
-- locked the root FOR NO KEY UPDATE (provider_lock_root), or deletes it. Calls, for deleted rows:
-- tree_class_add for each tree and class.
CREATE OR REPLACE FUNCTION tree_class_count() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_lost record;
BEGIN
    IF TG_OP = 'INSERT' THEN
        -- No rows if all inventories existed: ON CONFLICT DO UPDATE inserts none.
        INSERT /* tree_class_count 1/3 */ INTO tree_classes AS existing (root_id, class_id, providers)
        SELECT changed.root_id, changed.class_id, count(*)
        FROM changed GROUP BY changed.root_id, changed.class_id ORDER BY changed.root_id, changed.class_id
        ON CONFLICT (root_id, class_id) DO UPDATE SET providers = existing.providers + excluded.providers;
        RETURN NULL;
    END IF;
    FOR v_lost IN SELECT /* tree_class_count 2/3 */ changed.root_id, changed.class_id, count(*)::int AS providers
        FROM changed GROUP BY changed.root_id, changed.class_id ORDER BY changed.root_id, changed.class_id LOOP
        PERFORM /* tree_class_count 3/3 */ tree_class_add(v_lost.root_id, v_lost.class_id, -v_lost.providers);
    END LOOP;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER inventories_inserted AFTER INSERT ON inventories
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tree_class_count();
CREATE OR REPLACE TRIGGER inventories_deleted AFTER DELETE ON inventories
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tree_class_count();
