UPDATE provider_aggregates AS member SET sharing = NOT member.sharing
WHERE member.sharing <> EXISTS (
    SELECT FROM provider_traits AS present JOIN traits AS trait ON trait.id = present.trait_id
    WHERE present.provider_id = member.provider_id AND trait.name = 'MISC_SHARES_VIA_AGGREGATE');
