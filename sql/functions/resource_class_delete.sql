-- DELETE /resource_classes/{name}.
--
-- Raises PL004 (no such class), PL020 (a standard class), PL022 (an inventory has it). Locks: the class FOR
-- UPDATE; an insertion of an inventory waits for this lock through its foreign key.
CREATE OR REPLACE FUNCTION resource_class_delete(p_name text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_id int;
    v_rule text;
BEGIN
    SELECT /* resource_class_delete 1/3 */ class.id INTO v_id FROM resource_classes AS class
    WHERE class.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_id IS NULL THEN 'PL004'
        WHEN v_id < 10000 THEN 'PL020'
        WHEN EXISTS (SELECT /* resource_class_delete 2/3 */ FROM inventories AS inventory
            WHERE inventory.class_id = v_id) THEN 'PL022'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'resource class % cannot be deleted', p_name USING ERRCODE = v_rule,
            DETAIL = json_build_object('class', p_name);
    END IF;
    DELETE /* resource_class_delete 3/3 */ FROM resource_classes WHERE id = v_id;
END
$$;
