-- Returns the ids of resource classes, in the order of the names.
--
-- Raises PL004 for the first name that no class has. Locks nothing.
CREATE OR REPLACE FUNCTION resource_class_ids(p_names text[]) RETURNS int[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_ids int[];
    v_unknown text;
BEGIN
    SELECT /* resource_class_ids 1/1 */ array_agg(class.id ORDER BY requested.position),
           (array_agg(requested.name ORDER BY requested.position) FILTER (WHERE class.id IS NULL))[1]
    INTO v_ids, v_unknown
    FROM unnest(p_names) WITH ORDINALITY AS requested (name, position)
    LEFT JOIN resource_classes AS class ON class.name = requested.name;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no resource class %', v_unknown USING ERRCODE = 'PL004',
            DETAIL = json_build_object('class', v_unknown);
    END IF;
    RETURN coalesce(v_ids, '{}');
END
$$;
