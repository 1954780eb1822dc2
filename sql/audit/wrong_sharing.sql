-- Memberships whose column sharing differs from the provider's traits.
SELECT coalesce(provider.uuid::text, ''),
    format('provider %s is in aggregate %s with sharing %s', member.provider_id, member.aggregate_id, member.sharing)
FROM provider_aggregates AS member
LEFT JOIN resource_providers AS provider ON provider.id = member.provider_id
WHERE member.sharing <> EXISTS (
    SELECT FROM provider_traits AS provider_trait JOIN traits AS trait ON trait.id = provider_trait.trait_id
    WHERE provider_trait.provider_id = member.provider_id AND trait.name = 'MISC_SHARES_VIA_AGGREGATE')
ORDER BY member.provider_id, member.aggregate_id;
