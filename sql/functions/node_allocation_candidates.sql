-- The uuids of nodes that a request calls by uuid or name, in its order.
--
-- p_uuids and p_names are parallel; where the uuid is nil, the name counts. Raises
-- PL043 for those that don't exist, all of them. Locks nothing.
CREATE OR REPLACE FUNCTION node_allocation_candidates(p_uuids uuid[], p_names text[]) RETURNS uuid[]
LANGUAGE plpgsql AS $$
DECLARE
    v_found uuid[];
    v_unknown text[];
BEGIN
    SELECT coalesce(array_agg(found.uuid ORDER BY found.place), '{}'),
        array_agg(found.name ORDER BY found.place) FILTER (WHERE found.uuid IS NULL)
    INTO v_found, v_unknown
    FROM (
        SELECT wanted.place, wanted.name,
            CASE WHEN wanted.uuid = '00000000-0000-0000-0000-000000000000'
                THEN (SELECT node.uuid FROM nodes AS node WHERE node.name = wanted.name)
                ELSE (SELECT node.uuid FROM nodes AS node WHERE node.uuid = wanted.uuid) END AS uuid
        FROM unnest(p_uuids, p_names) WITH ORDINALITY AS wanted (uuid, name, place)
    ) AS found;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no nodes %', v_unknown USING ERRCODE = 'PL043',
            DETAIL = json_build_object('node', array_to_string(v_unknown, ', '));
    END IF;
    RETURN v_found;
END
$$;
