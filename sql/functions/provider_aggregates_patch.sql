-- PATCH /resource_providers/{uuid}/aggregates: adds the provider to aggregates and removes it from others.
--
-- p_generation null: do not compare the provider's generation. Inserts aggregates of p_added that do not exist.
-- Increments the generation only if the set changes. Returns the generation and all aggregates afterwards, with the id
-- of the aggregate as position; without aggregates one row with position -1 and the zero UUID.
-- Raises PL001 (no such provider) and PL002 (generation).
-- Locks: new aggregates in the order of their UUIDs, then the provider. Idempotent without a generation.
-- Calls: provider_lock, provider_bump_generation.
CREATE OR REPLACE FUNCTION provider_aggregates_patch(
    p_provider uuid, p_generation bigint, p_added uuid[], p_removed uuid[]
) RETURNS TABLE (shown_generation bigint, shown_position bigint, shown_uuid uuid)
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
    v_written bigint;
BEGIN
    INSERT /* provider_aggregates_patch 1/4 */ INTO aggregates (uuid)
    SELECT DISTINCT requested.uuid FROM unnest(p_added) AS requested (uuid)
    WHERE NOT EXISTS (SELECT FROM aggregates AS existing WHERE existing.uuid = requested.uuid)
    ORDER BY requested.uuid
    ON CONFLICT DO NOTHING;
    SELECT /* provider_aggregates_patch 2/4 */ * INTO v_locked
    FROM provider_lock(p_provider, p_generation, false, true);

    -- One statement, so that the provider's row is written once (provider_traits_denormalize).
    WITH /* provider_aggregates_patch 3/4 */ deleted AS (
        DELETE FROM provider_aggregates AS existing USING aggregates AS aggregate
        WHERE existing.provider_id = v_locked.provider_id AND aggregate.id = existing.aggregate_id
          AND aggregate.uuid = ANY (p_removed)
        RETURNING existing.aggregate_id
    ), inserted AS (
        INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id)
        SELECT v_locked.provider_id, aggregate.id, provider.root_id
        FROM aggregates AS aggregate, resource_providers AS provider
        WHERE aggregate.uuid = ANY (p_added) AND provider.id = v_locked.provider_id
        ORDER BY aggregate.id
        ON CONFLICT DO NOTHING
        RETURNING aggregate_id
    )
    SELECT (SELECT count(*) FROM deleted) + (SELECT count(*) FROM inserted) INTO v_written;
    IF v_written > 0 THEN
        v_locked.generation := provider_bump_generation(v_locked.provider_id);
    END IF;
    RETURN QUERY SELECT /* provider_aggregates_patch 4/4 */ v_locked.generation, coalesce(aggregate.id, -1)::bigint,
        coalesce(aggregate.uuid, '00000000-0000-0000-0000-000000000000')
    FROM (SELECT v_locked.provider_id AS id) AS provider
    LEFT JOIN provider_aggregates AS existing ON existing.provider_id = provider.id
    LEFT JOIN aggregates AS aggregate ON aggregate.id = existing.aggregate_id;
END
$$;
