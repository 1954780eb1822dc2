-- Rows that reference a provider, trait or aggregate that does not exist.
-- Inventories count only if they have no allocations.
SELECT '', orphan.sentence FROM (
    SELECT format('provider %s has a generation and does not exist', generation_row.provider_id) AS sentence
    FROM provider_generations AS generation_row
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = generation_row.provider_id)
    UNION ALL
    SELECT format('provider %s has trait %s, and one of them does not exist', provider_trait.provider_id, provider_trait.trait_id)
    FROM provider_traits AS provider_trait
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = provider_trait.provider_id)
       OR NOT EXISTS (SELECT FROM traits AS trait WHERE trait.id = provider_trait.trait_id)
    UNION ALL
    SELECT format('provider %s is in aggregate %s, and one of them does not exist', member.provider_id, member.aggregate_id)
    FROM provider_aggregates AS member
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = member.provider_id)
       OR NOT EXISTS (SELECT FROM aggregates AS aggregate WHERE aggregate.id = member.aggregate_id)
    UNION ALL
    SELECT format('provider %s has inventory of class %s and does not exist', inventory.provider_id, inventory.class_id)
    FROM inventories AS inventory
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = inventory.provider_id)
      AND NOT EXISTS (
        SELECT FROM allocations AS allocation
        WHERE allocation.provider_id = inventory.provider_id AND allocation.class_id = inventory.class_id)
) AS orphan
ORDER BY orphan.sentence;
