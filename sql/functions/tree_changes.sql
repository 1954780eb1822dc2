-- Returns the rows of tree_differences that tree_replace passes on as JSON to the functions of its steps.
CREATE OR REPLACE FUNCTION tree_changes(p_changes jsonb)
RETURNS TABLE (request_position bigint, provider uuid, provider_id bigint, root_id bigint, generation bigint,
    is_deleted bool, given bigint, name text, parent uuid, name_differs bool, parent_differs bool,
    inventories jsonb, records jsonb, traits jsonb, aggregates jsonb)
LANGUAGE sql IMMUTABLE AS $$
    SELECT /* tree_changes 1/1 */ change.*
    FROM jsonb_to_recordset(p_changes) AS change (request_position bigint, provider uuid, provider_id bigint,
        root_id bigint, generation bigint, is_deleted bool, given bigint, name text, parent uuid, name_differs bool,
        parent_differs bool, inventories jsonb, records jsonb, traits jsonb, aggregates jsonb);
$$;
