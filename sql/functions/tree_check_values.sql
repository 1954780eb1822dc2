-- Rejects names and inventory records of PUT /resource_providers/{uuid}/tree.
--
-- p_changes: see tree_check. Raises, in this order: PL077 (another provider has or gets the name of a new or renamed
-- provider; a name is free only if no provider has it before the request), PL004 (unknown class), PL013 (unknown
-- traits, all of them), PL006 (a changed record has more reserved than total), each for the first of the request.
-- Locks nothing. The write raises 23505 (resource_providers_name_key) for a name that is taken after this check.
-- Calls: inventory_check_capacity for each provider with changed records.
CREATE OR REPLACE FUNCTION tree_check_values(p_changes jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_name text;
    v_unknown text[];
BEGIN
    SELECT /* tree_check_values 1/4 */ named.name INTO v_name
    FROM (
        SELECT change.request_position, change.provider, change.name,
            count(*) OVER (PARTITION BY change.name ORDER BY change.request_position) AS uses
        FROM tree_changes(p_changes) AS change WHERE change.name_differs
    ) AS named
    WHERE named.uses > 1 OR EXISTS (SELECT FROM resource_providers AS other
        -- Another request can have created the provider itself since; the write finds out, and is retried.
        WHERE other.name = named.name AND other.uuid <> named.provider)
    ORDER BY named.request_position LIMIT 1;
    IF v_name IS NOT NULL THEN
        RAISE EXCEPTION 'provider name % is taken', v_name USING ERRCODE = 'PL077',
            DETAIL = json_build_object('name', v_name);
    END IF;
    PERFORM /* tree_check_values 2/4 */ resource_class_ids(ARRAY(
        SELECT record ->> 'class' FROM tree_changes(p_changes) AS change
        CROSS JOIN jsonb_array_elements(change.inventories) WITH ORDINALITY AS item (record, position)
        ORDER BY change.request_position, item.position));
    SELECT /* tree_check_values 3/4 */ array_agg(DISTINCT wanted.name) INTO v_unknown
    FROM tree_changes(p_changes) AS change CROSS JOIN jsonb_array_elements_text(change.traits) AS wanted (name)
    WHERE NOT EXISTS (SELECT FROM traits AS trait WHERE trait.name = wanted.name);
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no traits %', v_unknown USING ERRCODE = 'PL013',
            DETAIL = json_build_object('traits', array_to_string(v_unknown, ', '));
    END IF;
    PERFORM /* tree_check_values 4/4 */ inventory_check_capacity(change.provider, change.records, 0)
    FROM (SELECT one.provider, one.records FROM tree_changes(p_changes) AS one
        WHERE one.records IS NOT NULL ORDER BY one.request_position) AS change;
END
$$;
