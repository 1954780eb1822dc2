-- PUT /resource_providers/{uuid}/tree: creates, changes and deletes providers of one tree, and sets allocations of consumers.
--
-- p_root: the provider of the path. p_providers, p_deleted: see tree_differences; the caller has checked that no provider
-- is named twice, that only the root has no parent, and that the named parents make no cycle. The other arguments are
-- those of allocation_replace. If nothing differs it returns before it takes a lock. Otherwise it takes all locks,
-- determines the differences again, checks all generations, and writes only what differs. Each provider whose inventories,
-- traits, aggregates or allocations change gets the next generation, once.
-- Returns what tree_show describes.
-- Raises, in this order: see tree_check; PL003 (consumer generation); see tree_check_values; PL009, PL004 (see
-- allocation_resolve); PL010, PL011, PL012 (see allocation_raise_error); PL005 (a dropped inventory is in use); see
-- tree_delete; 23505 (resource_providers_name_key), if a name was taken concurrently; 40001, also if another request made
-- the same changes while this one waited.
-- Locks: new classes, traits, aggregates, projects, users and types; consumers; then see tree_lock. Idempotent.
-- Calls: tree_compare, tree_differences, tree_consumer_differences, tree_differs, tree_ensure_names, consumer_lock, tree_lock, tree_check,
-- consumer_check_generation, tree_check_values, tree_write, consumer_write_changes, tree_show.
CREATE OR REPLACE FUNCTION tree_replace(
    p_root uuid, p_providers jsonb, p_deleted jsonb,
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generations bigint[], p_unseen bool[],
    p_owners int[], p_allocated uuid[], p_classes text[], p_amounts bigint[]
) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    v_compared record;
    v_changes jsonb;
    v_consumers jsonb;
    v_locked record;
    v_tree record;
    v_usages bigint[];
BEGIN
    SELECT /* tree_replace 1/8 */ * INTO v_compared FROM tree_compare(p_providers, p_deleted, p_consumers, p_projects,
        p_users, p_types, p_owners, p_allocated, p_classes, p_amounts);
    IF v_compared.shown IS NOT NULL THEN
        RETURN v_compared.shown;
    END IF;

    PERFORM /* tree_replace 2/8 */ tree_ensure_names(p_providers);
    v_locked := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    v_tree := tree_lock(p_root, v_compared.changes, v_locked.ids, p_allocated);
    v_changes := (SELECT /* tree_replace 3/8 */ coalesce(jsonb_agg(to_jsonb(difference) ORDER BY difference.request_position), '[]')
        FROM tree_differences(p_providers, p_deleted) AS difference);
    -- consumer_lock has inserted the new consumers, so they are difference now.
    v_consumers := (SELECT /* tree_replace 4/8 */ coalesce(jsonb_agg(jsonb_build_object('request_position', difference.request_position,
            'consumer', difference.consumer, 'differs', difference.differs, 'consumer_id',
            CASE WHEN v_locked.generations[difference.request_position] >= 0 THEN difference.consumer_id END)
            ORDER BY difference.request_position), '[]')
        FROM tree_consumer_differences(p_consumers, p_projects, p_users, p_types, p_owners, p_allocated, p_classes,
            p_amounts) AS difference);
    IF NOT tree_differs(v_changes, v_consumers) THEN
        RAISE EXCEPTION 'the tree of % was changed concurrently', p_root USING ERRCODE = '40001';
    END IF;
    PERFORM /* tree_replace 5/8 */ tree_check(p_root, v_tree.root_id, v_changes);
    PERFORM /* tree_replace 6/8 */ consumer_check_generation(p_consumers, v_locked.generations, p_generations, p_unseen);
    PERFORM /* tree_replace 7/8 */ tree_check_values(v_changes);
    v_usages := tree_write(p_root, v_tree.root_id, v_tree.locked, v_changes, v_locked.ids,
        p_owners, p_allocated, p_classes, p_amounts);
    PERFORM /* tree_replace 8/8 */ consumer_write_changes(v_locked.ids, v_locked.projects, v_locked.users, v_locked.types,
        ARRAY(SELECT was.differs AND was.consumer_id IS NOT NULL
            FROM jsonb_to_recordset(v_consumers) AS was (request_position bigint, consumer_id bigint, differs bool)
            ORDER BY was.request_position));
    RETURN tree_show(v_changes, v_consumers, v_usages);
END
$$;
