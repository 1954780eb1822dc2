-- Rejects new parents that make a parent cycle with providers that the request does not name.
--
-- p_changes: see tree_check. The caller has rejected cycles of named providers before. Raises PL019 with the UUIDs of the
-- providers of the first cycle. Locks nothing; the caller has locked the root.
CREATE OR REPLACE FUNCTION tree_check_parents(p_changes jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_cycle uuid[];
BEGIN
    IF NOT EXISTS (SELECT /* tree_check_parents 1/2 */ FROM tree_changes(p_changes) AS change
        WHERE change.parent_differs AND change.provider_id IS NOT NULL) THEN
        RETURN;
    END IF;
    WITH /* tree_check_parents 2/2 */ RECURSIVE change AS MATERIALIZED (
        SELECT named.* FROM tree_changes(p_changes) AS named WHERE NOT named.is_deleted
    ), walk AS (
        SELECT moved.request_position, ARRAY[moved.provider] AS path, moved.parent AS ancestor
        FROM change AS moved WHERE moved.parent_differs AND moved.provider_id IS NOT NULL
        UNION ALL
        SELECT walk.request_position, walk.path || walk.ancestor,
            CASE WHEN named.provider IS NOT NULL THEN named.parent
                ELSE (SELECT (SELECT above.uuid FROM resource_providers AS above WHERE above.id = provider.parent_id)
                    FROM resource_providers AS provider WHERE provider.uuid = walk.ancestor) END
        FROM walk LEFT JOIN change AS named ON named.provider = walk.ancestor
        WHERE walk.ancestor <> ALL (walk.path)
    )
    SELECT walk.path INTO v_cycle FROM walk WHERE walk.ancestor = walk.path[1]
    ORDER BY walk.request_position LIMIT 1;
    IF v_cycle IS NOT NULL THEN
        RAISE EXCEPTION 'providers % are ancestors of each other', v_cycle USING ERRCODE = 'PL019',
            DETAIL = json_build_object('providers', array_to_string(v_cycle, ', '));
    END IF;
END
$$;
