-- PUT /resource_providers/{uuid}/traits: replaces the traits of the provider.
--
-- Names may repeat. Increments the generation only if the set changes. Returns the generation afterwards.
-- Raises, in this order: PL001 (no such provider), PL002 (generation), PL013 (unknown traits, all of them).
-- Locks: provider.
CREATE OR REPLACE FUNCTION provider_traits_replace(p_provider uuid, p_generation bigint, p_names text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
    v_requested int[];
    v_unknown text[];
    v_written bigint;
BEGIN
    SELECT /* provider_traits_replace 1/3 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, false, true);
    SELECT /* provider_traits_replace 2/3 */ array_agg(DISTINCT trait.id) FILTER (WHERE trait.id IS NOT NULL),
           array_agg(DISTINCT requested.name) FILTER (WHERE trait.id IS NULL)
    INTO v_requested, v_unknown
    FROM unnest(p_names) AS requested (name) LEFT JOIN traits AS trait ON trait.name = requested.name;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no traits %', v_unknown USING ERRCODE = 'PL013',
            DETAIL = json_build_object('traits', array_to_string(v_unknown, ', '));
    END IF;

    WITH /* provider_traits_replace 3/3 */ deleted AS (
        DELETE FROM provider_traits AS existing
        WHERE existing.provider_id = v_locked.provider_id AND existing.trait_id <> ALL (coalesce(v_requested, '{}'))
        RETURNING existing.trait_id
    ), inserted AS (
        INSERT INTO provider_traits (provider_id, trait_id, root_id)
        SELECT v_locked.provider_id, requested.id, provider.root_id
        FROM resource_providers AS provider, unnest(v_requested) AS requested (id)
        WHERE provider.id = v_locked.provider_id ORDER BY requested.id
        ON CONFLICT DO NOTHING
        RETURNING trait_id
    )
    SELECT (SELECT count(*) FROM deleted) + (SELECT count(*) FROM inserted) INTO v_written;
    RETURN CASE WHEN v_written > 0 THEN provider_bump_generation(v_locked.provider_id) ELSE v_locked.generation END;
END
$$;
