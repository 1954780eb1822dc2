-- The UUIDs of the aggregates of a provider, in the order of their ids.
--
-- Called by the queries TreeShow and ProviderPage, once for each provider. Locks nothing.
-- Plan: a range of provider_aggregates_pkey, and aggregates_pkey for each aggregate; enable_seqscan is off as in
-- provider_trait_names.
CREATE OR REPLACE FUNCTION provider_aggregate_uuids(p_provider bigint) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* provider_aggregate_uuids 1/1 */ (SELECT aggregate.uuid FROM aggregates AS aggregate WHERE aggregate.id = one.aggregate_id)
        FROM provider_aggregates AS one WHERE one.provider_id = p_provider
        ORDER BY one.aggregate_id);
END
$$;
