-- Providers whose copies of traits and aggregates differ from the tables they copy.
SELECT provider.uuid::text, format('provider %s has copies of traits %s and aggregates %s that differ from the original rows',
    provider.id, provider.trait_ids, provider.aggregate_ids)
FROM resource_providers AS provider
WHERE provider.trait_ids <> ARRAY(
        SELECT provider_trait.trait_id FROM provider_traits AS provider_trait
        WHERE provider_trait.provider_id = provider.id ORDER BY provider_trait.trait_id)
   OR provider.aggregate_ids <> ARRAY(
        SELECT member.aggregate_id FROM provider_aggregates AS member
        WHERE member.provider_id = provider.id ORDER BY member.aggregate_id)
ORDER BY provider.id;
