WITH generation AS (
    DELETE FROM provider_generations AS generation_row
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = generation_row.provider_id)
    RETURNING generation_row.provider_id
), trait AS (
    DELETE FROM provider_traits AS provider_trait
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = provider_trait.provider_id)
       OR NOT EXISTS (SELECT FROM traits AS trait WHERE trait.id = provider_trait.trait_id)
    RETURNING provider_trait.provider_id
), membership AS (
    DELETE FROM provider_aggregates AS member
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = member.provider_id)
       OR NOT EXISTS (SELECT FROM aggregates AS aggregate WHERE aggregate.id = member.aggregate_id)
    RETURNING member.provider_id
), inventory AS (
    DELETE FROM inventories AS inventory
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = inventory.provider_id)
      AND NOT EXISTS (
        SELECT FROM allocations AS allocation
        WHERE allocation.provider_id = inventory.provider_id AND allocation.class_id = inventory.class_id)
    RETURNING inventory.provider_id
)
SELECT generation.provider_id FROM generation UNION ALL SELECT trait.provider_id FROM trait
UNION ALL SELECT membership.provider_id FROM membership UNION ALL SELECT inventory.provider_id FROM inventory;
