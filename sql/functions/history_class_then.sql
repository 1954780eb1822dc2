-- Returns the name that a resource class had at the event of p_renames, which history_renames returns. p_class is its name at the event
-- p_index, or now, if p_index is null.
CREATE OR REPLACE FUNCTION history_class_then(p_renames jsonb, p_class text, p_index bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_name text := p_class;
    v_rename jsonb;
BEGIN
    FOR v_rename IN SELECT /* history_class_then 1/1 */ item.value FROM jsonb_array_elements(coalesce(p_renames, '[]')) WITH ORDINALITY AS item (value, position)
        ORDER BY item.position
    LOOP
        IF v_rename ->> 'name' = v_name AND (p_index IS NULL OR (v_rename ->> 'index')::bigint < p_index) THEN
            v_name := v_rename ->> 'old';
        END IF;
    END LOOP;
    RETURN v_name;
END
$$;
