-- Returns a row for each provider of PUT /resource_providers/{uuid}/tree: what is there, and what differs from the request.
--
-- p_providers: JSON array of {uuid, name, parent, generation, inventories, traits, aggregates}; inventories are records
-- as in inventory_write, the last three are null or missing if they stay as they are. p_deleted: JSON array of {uuid,
-- generation}. provider_id, root_id and generation are null for a provider that does not exist. inventories, traits and
-- aggregates are the requested ones, records the changed records (see inventory_changes); each is null if nothing
-- differs. Traits and aggregates that do not exist differ. Locks nothing.
-- Plan: keys, and the range of each provider in inventories_pkey.
-- Calls: inventory_changes for each provider.
CREATE OR REPLACE FUNCTION tree_differences(p_providers jsonb, p_deleted jsonb)
RETURNS TABLE (request_position bigint, provider uuid, provider_id bigint, root_id bigint, generation bigint,
    is_deleted bool, given bigint, name text, parent uuid, name_differs bool, parent_differs bool,
    inventories jsonb, records jsonb, traits jsonb, aggregates jsonb)
LANGUAGE sql STABLE AS $$
    SELECT /* tree_differences 1/1 */ item.position, item.uuid, existing.id, existing.root_id, existing.generation,
        false, item.generation, item.name, item.parent,
        item.name IS DISTINCT FROM existing.name, item.parent IS DISTINCT FROM existing.parent,
        CASE WHEN changed.records IS NOT NULL THEN item.inventories END, changed.records,
        CASE WHEN item.traits IS NOT NULL AND coalesce(existing.trait_ids, '{}') <> ARRAY(
            SELECT DISTINCT (SELECT trait.id FROM traits AS trait WHERE trait.name = wanted.name) AS id
            FROM jsonb_array_elements_text(item.traits) AS wanted (name) ORDER BY id) THEN item.traits END,
        CASE WHEN item.aggregates IS NOT NULL AND coalesce(existing.aggregate_ids, '{}') <> ARRAY(
            SELECT DISTINCT (SELECT aggregate.id FROM aggregates AS aggregate
                WHERE aggregate.uuid = wanted.uuid::uuid) AS id
            FROM jsonb_array_elements_text(item.aggregates) AS wanted (uuid) ORDER BY id) THEN item.aggregates END
    FROM ROWS FROM (jsonb_to_recordset(p_providers) AS (uuid uuid, name text, parent uuid, generation bigint,
            inventories jsonb, traits jsonb, aggregates jsonb)) WITH ORDINALITY
        AS item (uuid, name, parent, generation, inventories, traits, aggregates, position)
    LEFT JOIN LATERAL (
        SELECT provider.id, provider.root_id, provider.name, provider.trait_ids, provider.aggregate_ids,
            (SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = provider.parent_id) AS parent,
            (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = provider.id) AS generation
        FROM resource_providers AS provider WHERE provider.uuid = item.uuid OFFSET 0
    ) AS existing ON true
    CROSS JOIN LATERAL (SELECT inventory_changes(existing.id, item.inventories) AS records OFFSET 0) AS changed
    UNION ALL
    SELECT 2147483648 + item.position, item.uuid, existing.id, existing.root_id, existing.generation,
        true, item.generation, NULL, NULL, false, false, NULL, NULL, NULL, NULL
    FROM ROWS FROM (jsonb_to_recordset(p_deleted) AS (uuid uuid, generation bigint)) WITH ORDINALITY
        AS item (uuid, generation, position)
    LEFT JOIN LATERAL (
        SELECT provider.id, provider.root_id,
            (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = provider.id) AS generation
        FROM resource_providers AS provider WHERE provider.uuid = item.uuid OFFSET 0
    ) AS existing ON true
    ORDER BY 1;
$$;
