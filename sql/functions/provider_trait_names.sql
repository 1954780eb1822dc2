-- The names of the traits of a provider, in the order of their ids.
--
-- Called by the queries TreeShow and ProviderPage, once for each provider. Locks nothing.
-- Plan: a range of provider_traits_pkey, and traits_pkey for each trait. A query without enable_seqscan off scans the few
-- hundred traits for each trait of each provider, because one scan of so small a table is estimated to cost less than the index.
CREATE OR REPLACE FUNCTION provider_trait_names(p_provider bigint) RETURNS text[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* provider_trait_names 1/1 */ (SELECT trait.name FROM traits AS trait WHERE trait.id = one.trait_id)
        FROM provider_traits AS one WHERE one.provider_id = p_provider
        ORDER BY one.trait_id);
END
$$;
