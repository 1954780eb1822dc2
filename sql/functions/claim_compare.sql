-- Compares what a candidate was found by with what is there now.
--
-- p_guards, p_revisions: providers and the revisions that the search read. p_anchors, p_shared: roots of trees, and
-- providers that shared with them; both must still have an aggregate in common. Raises PL061 if anything differs.
-- The caller has locked the providers with allocations. One statement compares all, so a claim is as if it happened at
-- the moment of that statement: a write of traits, aggregates or parents that commits later comes after it.
-- Locks nothing.
-- Plan: resource_providers_pkey; provider_aggregates_pkey, then provider_aggregates_aggregate_id_idx. LIMIT 1 keeps the
-- lookup out of a join, see consumer_lock.
CREATE OR REPLACE FUNCTION claim_compare(
    p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT /* claim_compare 1/1 */ FROM unnest(p_guards, p_revisions) AS seen (provider_id, revision)
        WHERE (SELECT provider.revision FROM resource_providers AS provider WHERE provider.id = seen.provider_id)
            IS DISTINCT FROM seen.revision
        UNION ALL
        SELECT FROM unnest(p_anchors, p_shared) AS link (root_id, provider_id)
        WHERE (
            SELECT of_tree.aggregate_id FROM provider_aggregates AS of_provider
            JOIN provider_aggregates AS of_tree ON of_tree.aggregate_id = of_provider.aggregate_id
            WHERE of_provider.provider_id = link.provider_id AND of_provider.sharing AND of_tree.root_id = link.root_id
            LIMIT 1
        ) IS NULL
    ) THEN
        RAISE EXCEPTION 'a provider has changed since the search' USING ERRCODE = 'PL061', DETAIL = '{}';
    END IF;
END
$$;
