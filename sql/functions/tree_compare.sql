-- Compares the request of PUT /resource_providers/{uuid}/tree with what is there, in one snapshot.
--
-- Arguments as in tree_replace. shown: the result if nothing differs (see tree_show), else null. changes: the rows of
-- tree_differences as JSON.
-- It is STABLE, so all its statements use the snapshot of the calling one: the generations in shown belong to the state that
-- equals the request. Locks nothing.
-- Calls: tree_differences, tree_consumer_differences, tree_differs, tree_show.
CREATE OR REPLACE FUNCTION tree_compare(
    p_providers jsonb, p_deleted jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[],
    p_owners int[], p_allocated uuid[], p_classes text[], p_amounts bigint[],
    OUT shown jsonb, OUT changes jsonb
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_consumers jsonb;
BEGIN
    changes := (SELECT /* tree_compare 1/2 */ coalesce(jsonb_agg(to_jsonb(difference) ORDER BY difference.request_position), '[]')
        FROM tree_differences(p_providers, p_deleted) AS difference);
    v_consumers := (SELECT /* tree_compare 2/2 */ coalesce(jsonb_agg(to_jsonb(difference) ORDER BY difference.request_position), '[]')
        FROM tree_consumer_differences(p_consumers, p_projects, p_users, p_types, p_owners, p_allocated, p_classes,
            p_amounts) AS difference);
    IF NOT tree_differs(changes, v_consumers) THEN
        shown := tree_show(changes, v_consumers, '{}');
    END IF;
END
$$;
