-- Rows that say something of a provider, trait or aggregate that does not exist.
-- Inventories count only where nothing is allocated.
SELECT '', leftover.sentence FROM (
    SELECT format('provider %s has a generation and does not exist', held.provider_id) AS sentence
    FROM provider_generations AS held
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = held.provider_id)
    UNION ALL
    SELECT format('provider %s has trait %s, and one of them does not exist', present.provider_id, present.trait_id)
    FROM provider_traits AS present
    WHERE NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = present.provider_id)
       OR NOT EXISTS (SELECT FROM traits AS trait WHERE trait.id = present.trait_id)
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
        SELECT FROM allocations AS taken
        WHERE taken.provider_id = inventory.provider_id AND taken.class_id = inventory.class_id)
) AS leftover
ORDER BY leftover.sentence;
