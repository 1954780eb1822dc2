-- DELETE /traits/{name}.
--
-- Raises PL013 (no such trait), PL021 (a standard trait), PL023 (a provider has it). Locks: the trait FOR
-- UPDATE; an insertion into provider_traits waits for this lock through its foreign key.
CREATE OR REPLACE FUNCTION trait_delete(p_name text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_id int;
    v_rule text;
BEGIN
    SELECT /* trait_delete 1/3 */ trait.id INTO v_id FROM traits AS trait WHERE trait.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_id IS NULL THEN 'PL013'
        WHEN NOT starts_with(p_name, 'CUSTOM_') THEN 'PL021'
        WHEN EXISTS (SELECT /* trait_delete 2/3 */ FROM provider_traits AS existing
            WHERE existing.trait_id = v_id) THEN 'PL023'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'trait % cannot be deleted', p_name USING ERRCODE = v_rule,
            DETAIL = json_build_object('traits', p_name);
    END IF;
    DELETE /* trait_delete 3/3 */ FROM traits WHERE id = v_id;
END
$$;
