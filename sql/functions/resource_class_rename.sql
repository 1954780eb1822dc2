-- PUT /resource_classes/{name} before microversion 1.7: renames a custom class.
--
-- Raises PL004 (no such class), PL020 (a standard class) and 23505 (resource_classes_name_key). Locks: the
-- class.
CREATE OR REPLACE FUNCTION resource_class_rename(p_name text, p_new_name text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_id int;
BEGIN
    SELECT /* resource_class_rename 1/2 */ class.id INTO v_id FROM resource_classes AS class
    WHERE class.name = p_name FOR UPDATE;
    IF v_id IS NULL OR v_id < 10000 THEN
        RAISE EXCEPTION 'resource class % cannot be renamed', p_name
            USING ERRCODE = CASE WHEN v_id IS NULL THEN 'PL004' ELSE 'PL020' END,
            DETAIL = json_build_object('class', p_name);
    END IF;
    UPDATE /* resource_class_rename 2/2 */ resource_classes SET name = p_new_name, updated_at = now()
    WHERE id = v_id AND name <> p_new_name;
END
$$;
