UPDATE resource_providers AS provider
SET trait_ids = original.trait_ids, aggregate_ids = original.aggregate_ids
FROM (
    SELECT source.id,
        ARRAY(SELECT provider_trait.trait_id FROM provider_traits AS provider_trait
            WHERE provider_trait.provider_id = source.id ORDER BY provider_trait.trait_id) AS trait_ids,
        ARRAY(SELECT member.aggregate_id FROM provider_aggregates AS member
            WHERE member.provider_id = source.id ORDER BY member.aggregate_id) AS aggregate_ids
    FROM resource_providers AS source
) AS original
WHERE original.id = provider.id
  AND (provider.trait_ids <> original.trait_ids OR provider.aggregate_ids <> original.aggregate_ids);
