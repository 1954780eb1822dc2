-- PUT /resource_providers/{uuid}/traits: exactly these traits.
--
-- Names may repeat. The generation rises only if the set changes. Returns the
-- generation afterwards. Raises, in this order: PL001 (no such provider), PL002
-- (generation), PL013 (unknown traits, all of them). Locks: provider.
CREATE OR REPLACE FUNCTION provider_traits_replace(p_provider uuid, p_generation bigint, p_names text[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_held record;
    v_wanted int[];
    v_unknown text[];
    v_written bigint;
BEGIN
    SELECT * INTO v_held FROM lock_provider(p_provider, p_generation, false, true);
    SELECT array_agg(DISTINCT trait.id) FILTER (WHERE trait.id IS NOT NULL),
           array_agg(DISTINCT wanted.name) FILTER (WHERE trait.id IS NULL)
    INTO v_wanted, v_unknown
    FROM unnest(p_names) AS wanted (name) LEFT JOIN traits AS trait ON trait.name = wanted.name;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no traits %', v_unknown USING ERRCODE = 'PL013',
            DETAIL = json_build_object('traits', array_to_string(v_unknown, ', '));
    END IF;

    WITH gone AS (
        DELETE FROM provider_traits AS present
        WHERE present.provider_id = v_held.provider_id AND present.trait_id <> ALL (coalesce(v_wanted, '{}'))
        RETURNING present.trait_id
    ), come AS (
        INSERT INTO provider_traits (provider_id, trait_id)
        SELECT v_held.provider_id, wanted.id FROM unnest(v_wanted) AS wanted (id) ORDER BY wanted.id
        ON CONFLICT DO NOTHING
        RETURNING trait_id
    )
    SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM come) INTO v_written;
    RETURN CASE WHEN v_written > 0 THEN bump_provider(v_held.provider_id) ELSE v_held.generation END;
END
$$;
