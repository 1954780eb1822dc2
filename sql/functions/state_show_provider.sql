-- Returns a provider with its inventories, usages, traits and aggregates, as state_show does; no row: it does not exist.
--
-- Locks nothing. Plan: resource_providers_pkey, then ranges of the primary keys of the other tables.
CREATE OR REPLACE FUNCTION state_show_provider(p_provider bigint) RETURNS TABLE (uuid uuid, state jsonb)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY SELECT /* state_show_provider 1/1 */ provider.uuid, jsonb_build_object(
        'name', provider.name, 'parent', parent.uuid, 'generation', generation_row.generation,
        'inventories', coalesce(records.inventories, '{}'), 'usages', coalesce(records.usages, '{}'),
        'traits', ARRAY(SELECT trait.name
            FROM provider_traits AS link JOIN traits AS trait ON trait.id = link.trait_id
            WHERE link.provider_id = p_provider ORDER BY trait.name),
        'aggregates', ARRAY(SELECT aggregate.uuid
            FROM provider_aggregates AS link JOIN aggregates AS aggregate ON aggregate.id = link.aggregate_id
            WHERE link.provider_id = p_provider ORDER BY aggregate.uuid))
    FROM resource_providers AS provider
    JOIN provider_generations AS generation_row ON generation_row.provider_id = provider.id
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    CROSS JOIN LATERAL (
        SELECT jsonb_object_agg(class.name, jsonb_build_object(
                'total', inventory.total, 'reserved', inventory.reserved, 'min_unit', inventory.min_unit,
                'max_unit', inventory.max_unit, 'step_size', inventory.step_size,
                'allocation_ratio', inventory.allocation_ratio)) AS inventories,
            jsonb_object_agg(class.name, inventory.used) AS usages
        FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
        WHERE inventory.provider_id = p_provider
    ) AS records
    WHERE provider.id = p_provider;
END
$$;
