-- Compares PUT /resource_providers/{uuid}/tree with the tree: its root, its providers, their parents and generations.
--
-- p_root_id: the locked provider of the path, null if it did not exist. p_changes: tree_differences under the locks.
-- Raises, in this order: PL001 (the provider of the path neither exists nor is named), PL072 (it is not a root), PL073
-- (a provider is in another tree), PL074 (a parent is neither named nor in the tree, or is deleted), PL019 (see
-- tree_check_parents), PL002 (a generation; null for a provider that does not exist), each for the first provider of the
-- request, and 40001 if the provider of the path was created since. Locks nothing.
-- Calls: tree_check_parents.
CREATE OR REPLACE FUNCTION tree_check(p_root uuid, p_root_id bigint, p_changes jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_root record;
    v_wrong record;
BEGIN
    SELECT /* tree_check 1/7 */ provider.id, provider.root_id INTO v_root FROM resource_providers AS provider
    WHERE provider.uuid = p_root;
    IF v_root.id IS DISTINCT FROM p_root_id THEN
        RAISE EXCEPTION 'provider % was created concurrently', p_root USING ERRCODE = '40001';
    END IF;
    IF v_root.id IS NULL AND NOT EXISTS (SELECT /* tree_check 2/7 */ FROM tree_changes(p_changes) AS change
        WHERE change.provider = p_root AND NOT change.is_deleted) THEN
        RAISE EXCEPTION 'no resource provider %', p_root USING ERRCODE = 'PL001',
            DETAIL = json_build_object('provider', p_root);
    END IF;
    IF v_root.root_id <> v_root.id THEN
        RAISE EXCEPTION 'provider % is not a root', p_root USING ERRCODE = 'PL072',
            DETAIL = json_build_object('provider', p_root, 'root', (SELECT /* tree_check 3/7 */ root.uuid
                FROM resource_providers AS root WHERE root.id = v_root.root_id));
    END IF;

    SELECT /* tree_check 4/7 */ change.provider, (SELECT root.uuid FROM resource_providers AS root
            WHERE root.id = change.root_id) AS root
    INTO v_wrong FROM tree_changes(p_changes) AS change
    WHERE change.root_id IS NOT NULL AND change.root_id IS DISTINCT FROM p_root_id
    ORDER BY change.request_position LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'provider % is in the tree of %', v_wrong.provider, v_wrong.root USING ERRCODE = 'PL073',
            DETAIL = json_build_object('provider', v_wrong.provider, 'root', v_wrong.root);
    END IF;
    SELECT /* tree_check 5/7 */ change.provider, change.parent INTO v_wrong
    FROM tree_changes(p_changes) AS change
    LEFT JOIN tree_changes(p_changes) AS named ON named.provider = change.parent
    WHERE change.parent IS NOT NULL AND CASE
        WHEN named.provider IS NOT NULL THEN named.is_deleted
        ELSE (SELECT parent.root_id FROM resource_providers AS parent WHERE parent.uuid = change.parent)
            IS DISTINCT FROM p_root_id OR p_root_id IS NULL END
    ORDER BY change.request_position LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'parent % of provider % is not in the tree', v_wrong.parent, v_wrong.provider
            USING ERRCODE = 'PL074', DETAIL = json_build_object('provider', v_wrong.provider, 'parent', v_wrong.parent);
    END IF;
    PERFORM /* tree_check 6/7 */ tree_check_parents(p_changes);

    SELECT /* tree_check 7/7 */ change.provider, change.generation AS actual, change.given INTO v_wrong
    FROM tree_changes(p_changes) AS change
    WHERE change.generation IS DISTINCT FROM change.given
    ORDER BY change.request_position LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'generation of provider % is %, not %', v_wrong.provider, v_wrong.actual, v_wrong.given
            USING ERRCODE = 'PL002', DETAIL = json_build_object('provider', v_wrong.provider,
                'actual', v_wrong.actual, 'given', v_wrong.given);
    END IF;
END
$$;
