-- PUT /resource_providers/{uuid}/aggregates: exactly these aggregates.
--
-- p_generation null: before microversion 1.19, where the generation is neither
-- checked nor raised. Aggregates are made on first use. Returns the generation
-- afterwards. Raises PL001 (no such provider) and PL002 (generation).
-- Locks: new aggregates in uuid order, then the provider.
CREATE OR REPLACE FUNCTION provider_aggregates_replace(
    p_provider uuid, p_generation bigint, p_aggregates uuid[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_held record;
BEGIN
    INSERT INTO aggregates (uuid)
    SELECT DISTINCT wanted.uuid FROM unnest(p_aggregates) AS wanted (uuid)
    WHERE NOT EXISTS (SELECT FROM aggregates AS present WHERE present.uuid = wanted.uuid)
    ORDER BY wanted.uuid
    ON CONFLICT DO NOTHING;
    SELECT * INTO v_held FROM lock_provider(p_provider, p_generation, false, true);

    DELETE FROM provider_aggregates AS present USING aggregates AS aggregate
    WHERE present.provider_id = v_held.provider_id AND aggregate.id = present.aggregate_id
      AND aggregate.uuid <> ALL (p_aggregates);
    INSERT INTO provider_aggregates (provider_id, aggregate_id)
    SELECT v_held.provider_id, aggregate.id FROM aggregates AS aggregate
    WHERE aggregate.uuid = ANY (p_aggregates)
    ORDER BY aggregate.id
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN p_generation IS NULL THEN v_held.generation ELSE bump_provider(v_held.provider_id) END;
END
$$;
