-- Inserts the custom resource classes, custom traits and aggregates of PUT /resource_providers/{uuid}/tree that do not
-- exist yet.
--
-- p_providers: see tree_differences. If the request fails later, the transaction rolls the rows back. Other unknown
-- names are left to tree_check_values. Concurrent requests that insert the same names wait for each other.
-- Locks: the new rows: classes, then traits by name, then aggregates by UUID.
CREATE OR REPLACE FUNCTION tree_ensure_names(p_providers jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT /* tree_ensure_names 1/3 */ INTO resource_classes (name)
    SELECT DISTINCT wanted.record ->> 'class' AS name
    FROM jsonb_to_recordset(p_providers) AS item (inventories jsonb)
    CROSS JOIN jsonb_array_elements(item.inventories) AS wanted (record)
    WHERE wanted.record ->> 'class' ~ '^CUSTOM_[A-Z0-9_]+$' AND length(wanted.record ->> 'class') <= 255
      AND NOT EXISTS (SELECT FROM resource_classes AS existing WHERE existing.name = wanted.record ->> 'class')
    ORDER BY name ON CONFLICT DO NOTHING;
    INSERT /* tree_ensure_names 2/3 */ INTO traits (name)
    SELECT DISTINCT wanted.name
    FROM jsonb_to_recordset(p_providers) AS item (traits jsonb)
    CROSS JOIN jsonb_array_elements_text(item.traits) AS wanted (name)
    WHERE wanted.name ~ '^CUSTOM_[A-Z0-9_]+$' AND length(wanted.name) <= 255
      AND NOT EXISTS (SELECT FROM traits AS existing WHERE existing.name = wanted.name)
    ORDER BY wanted.name ON CONFLICT DO NOTHING;
    INSERT /* tree_ensure_names 3/3 */ INTO aggregates (uuid)
    SELECT DISTINCT wanted.uuid::uuid AS uuid
    FROM jsonb_to_recordset(p_providers) AS item (aggregates jsonb)
    CROSS JOIN jsonb_array_elements_text(item.aggregates) AS wanted (uuid)
    WHERE NOT EXISTS (SELECT FROM aggregates AS existing WHERE existing.uuid = wanted.uuid::uuid)
    ORDER BY uuid ON CONFLICT DO NOTHING;
END
$$;
