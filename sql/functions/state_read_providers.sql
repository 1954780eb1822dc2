-- Returns the providers that exist of those with the UUIDs p_named and the ids p_held, and their states by UUID: see
-- state_read. With p_brief, states lacks their parents, traits and aggregates.
--
-- Locks nothing. Plan: keys of the providers, then ranges of the primary keys of the other tables.
CREATE OR REPLACE FUNCTION state_read_providers(
    p_named uuid[], p_held bigint[], p_brief bool, OUT ids bigint[], OUT uuids uuid[], OUT states json
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    ids := '{}';
    uuids := '{}';
    states := '{}';
    IF p_named = '{}' AND p_held = '{}' THEN
        RETURN;
    END IF;
    IF p_brief THEN
        SELECT /* state_read_providers 1/2 */
            coalesce(array_agg(provider.id), '{}'), coalesce(array_agg(provider.uuid), '{}'),
            coalesce(json_object_agg(provider.uuid, json_build_object(
                'name', provider.name, 'generation', provider.generation,
                'inventories', coalesce(records.inventories, '{}'), 'usages', coalesce(records.usages, '{}'))), '{}')
        INTO ids, uuids, states
        FROM (
            SELECT found.id FROM unnest(p_named) AS named (uuid)
            CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.uuid = named.uuid OFFSET 0) AS found
            UNION SELECT listed.id FROM unnest(p_held) AS listed (id)
        ) AS shown
        CROSS JOIN LATERAL (
            SELECT one.id, one.uuid, one.name,
                (SELECT generation_row.generation FROM provider_generations AS generation_row
                    WHERE generation_row.provider_id = one.id) AS generation
            FROM resource_providers AS one WHERE one.id = shown.id OFFSET 0
        ) AS provider
        CROSS JOIN LATERAL (
            SELECT json_object_agg(class.name, json_build_object(
                    'total', inventory.total, 'reserved', inventory.reserved, 'min_unit', inventory.min_unit,
                    'max_unit', inventory.max_unit, 'step_size', inventory.step_size,
                    'allocation_ratio', inventory.allocation_ratio)) AS inventories,
                json_object_agg(class.name, inventory.used) AS usages
            FROM inventories AS inventory
            CROSS JOIN LATERAL (SELECT named.name FROM resource_classes AS named WHERE named.id = inventory.class_id OFFSET 0) AS class
            WHERE inventory.provider_id = shown.id
        ) AS records;
        RETURN;
    END IF;
    SELECT /* state_read_providers 2/2 */
        coalesce(array_agg(provider.id), '{}'), coalesce(array_agg(provider.uuid), '{}'),
        coalesce(json_object_agg(provider.uuid, json_build_object(
            'name', provider.name, 'parent', provider.parent, 'generation', provider.generation,
            'inventories', coalesce(records.inventories, '{}'), 'usages', coalesce(records.usages, '{}'),
            'traits', provider.traits, 'aggregates', provider.aggregates)), '{}')
    INTO ids, uuids, states
    FROM (
        SELECT found.id FROM unnest(p_named) AS named (uuid)
        CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.uuid = named.uuid OFFSET 0) AS found
        UNION SELECT listed.id FROM unnest(p_held) AS listed (id)
    ) AS shown
    CROSS JOIN LATERAL (
        SELECT one.id, one.uuid, one.name,
            (SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = one.parent_id) AS parent,
            (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = one.id) AS generation,
            ARRAY(SELECT trait.name FROM provider_traits AS link
                CROSS JOIN LATERAL (SELECT named.name FROM traits AS named WHERE named.id = link.trait_id OFFSET 0) AS trait
                WHERE link.provider_id = one.id ORDER BY trait.name) AS traits,
            ARRAY(SELECT aggregate.uuid FROM provider_aggregates AS link
                CROSS JOIN LATERAL (SELECT named.uuid FROM aggregates AS named WHERE named.id = link.aggregate_id OFFSET 0) AS aggregate
                WHERE link.provider_id = one.id ORDER BY aggregate.uuid) AS aggregates
        FROM resource_providers AS one WHERE one.id = shown.id OFFSET 0
    ) AS provider
    CROSS JOIN LATERAL (
        SELECT json_object_agg(class.name, json_build_object(
                'total', inventory.total, 'reserved', inventory.reserved, 'min_unit', inventory.min_unit,
                'max_unit', inventory.max_unit, 'step_size', inventory.step_size,
                'allocation_ratio', inventory.allocation_ratio)) AS inventories,
            json_object_agg(class.name, inventory.used) AS usages
        FROM inventories AS inventory
        CROSS JOIN LATERAL (SELECT named.name FROM resource_classes AS named WHERE named.id = inventory.class_id OFFSET 0) AS class
        WHERE inventory.provider_id = shown.id
    ) AS records;
END
$$;
