-- PUT /resource_providers/{uuid}/aggregates: replaces the aggregates of the provider.
--
-- p_generation null: a request before microversion 1.19, which neither checks nor increments the
-- generation. Inserts aggregates that do not exist. Returns the generation afterwards. Raises PL001 (no
-- such provider) and PL002 (generation).
-- Locks: new aggregates in the order of their UUIDs, then the provider.
CREATE OR REPLACE FUNCTION provider_aggregates_replace(
    p_provider uuid, p_generation bigint, p_aggregates uuid[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
BEGIN
    INSERT /* provider_aggregates_replace 1/3 */ INTO aggregates (uuid)
    SELECT DISTINCT requested.uuid FROM unnest(p_aggregates) AS requested (uuid)
    WHERE NOT EXISTS (SELECT FROM aggregates AS existing WHERE existing.uuid = requested.uuid)
    ORDER BY requested.uuid
    ON CONFLICT DO NOTHING;
    SELECT /* provider_aggregates_replace 2/3 */ * INTO v_locked
    FROM provider_lock(p_provider, p_generation, false, true);

    -- One statement, so that the provider's row is written once (provider_traits_denormalize).
    WITH /* provider_aggregates_replace 3/3 */ deleted AS (
        DELETE FROM provider_aggregates AS existing USING aggregates AS aggregate
        WHERE existing.provider_id = v_locked.provider_id AND aggregate.id = existing.aggregate_id
          AND aggregate.uuid <> ALL (p_aggregates)
    )
    INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id)
    SELECT v_locked.provider_id, aggregate.id, provider.root_id
    FROM aggregates AS aggregate, resource_providers AS provider
    WHERE aggregate.uuid = ANY (p_aggregates) AND provider.id = v_locked.provider_id
    ORDER BY aggregate.id
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN p_generation IS NULL
        THEN v_locked.generation ELSE provider_bump_generation(v_locked.provider_id) END;
END
$$;
