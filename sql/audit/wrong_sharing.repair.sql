UPDATE provider_aggregates AS member SET sharing = NOT member.sharing
WHERE member.sharing <> EXISTS (
    SELECT FROM provider_traits AS provider_trait JOIN traits AS trait ON trait.id = provider_trait.trait_id
    WHERE provider_trait.provider_id = member.provider_id AND trait.name = 'MISC_SHARES_VIA_AGGREGATE');
