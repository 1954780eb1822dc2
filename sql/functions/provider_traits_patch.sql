-- PATCH /resource_providers/{uuid}/traits: adds and removes traits of the provider.
--
-- p_generation null: do not compare the provider's generation. p_removed can have names of traits that do not exist.
-- Increments the generation only if the set changes. Returns the generation and all traits afterwards, with the id of
-- the trait as position; without traits one row with an empty name.
-- Raises, in this order: PL001 (no such provider), PL002 (generation), PL013 (unknown traits in p_added, all of them).
-- Locks: provider. Idempotent without a generation.
-- Calls: provider_lock, provider_bump_generation.
CREATE OR REPLACE FUNCTION provider_traits_patch(
    p_provider uuid, p_generation bigint, p_added text[], p_removed text[]
) RETURNS TABLE (shown_generation bigint, shown_position int, shown_name text)
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
    v_added int[];
    v_unknown text[];
    v_written bigint;
BEGIN
    SELECT /* provider_traits_patch 1/4 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, false, true);
    SELECT /* provider_traits_patch 2/4 */ array_agg(DISTINCT trait.id) FILTER (WHERE trait.id IS NOT NULL),
           array_agg(DISTINCT requested.name) FILTER (WHERE trait.id IS NULL)
    INTO v_added, v_unknown
    FROM unnest(p_added) AS requested (name) LEFT JOIN traits AS trait ON trait.name = requested.name;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no traits %', v_unknown USING ERRCODE = 'PL013',
            DETAIL = json_build_object('traits', array_to_string(v_unknown, ', '));
    END IF;

    -- One statement, so that the provider's row is written once (provider_traits_denormalize).
    WITH /* provider_traits_patch 3/4 */ deleted AS (
        DELETE FROM provider_traits AS existing USING traits AS trait
        WHERE existing.provider_id = v_locked.provider_id AND trait.id = existing.trait_id
          AND trait.name = ANY (p_removed)
        RETURNING existing.trait_id
    ), inserted AS (
        INSERT INTO provider_traits (provider_id, trait_id, root_id)
        SELECT v_locked.provider_id, requested.id, provider.root_id
        FROM resource_providers AS provider, unnest(v_added) AS requested (id)
        WHERE provider.id = v_locked.provider_id ORDER BY requested.id
        ON CONFLICT DO NOTHING
        RETURNING trait_id
    )
    SELECT (SELECT count(*) FROM deleted) + (SELECT count(*) FROM inserted) INTO v_written;
    IF v_written > 0 THEN
        v_locked.generation := provider_bump_generation(v_locked.provider_id);
    END IF;
    RETURN QUERY SELECT /* provider_traits_patch 4/4 */ v_locked.generation, coalesce(trait.id, -1),
        coalesce(trait.name, '')
    FROM (SELECT v_locked.provider_id AS id) AS provider
    LEFT JOIN provider_traits AS existing ON existing.provider_id = provider.id
    LEFT JOIN traits AS trait ON trait.id = existing.trait_id;
END
$$;
