-- Returns the providers of PUT /resource_providers/{uuid}/tree whose inventories, traits or aggregates change, with their
-- ids, also of those that the request creates, in the order of the request.
--
-- p_changes: see tree_check. Plan: resource_providers_uuid_key for each new provider.
CREATE OR REPLACE FUNCTION tree_parts(p_changes jsonb)
RETURNS TABLE (provider uuid, provider_id bigint, inventories jsonb, records jsonb, traits jsonb, aggregates jsonb)
LANGUAGE sql STABLE AS $$
    SELECT /* tree_parts 1/1 */ change.provider, coalesce(change.provider_id, (SELECT made.id
            FROM resource_providers AS made WHERE made.uuid = change.provider)),
        change.inventories, change.records, change.traits, change.aggregates
    FROM tree_changes(p_changes) AS change
    WHERE change.records IS NOT NULL OR change.traits IS NOT NULL OR change.aggregates IS NOT NULL
    ORDER BY change.request_position;
$$;
