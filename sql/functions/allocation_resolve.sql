-- Ids of the providers and classes that allocations name, in their order.
--
-- Raises PL009 for the first provider that does not exist, else PL004 for the
-- first such class. Locks nothing: allocation_apply finds out if a provider goes
-- meanwhile, and a class in use cannot go.
CREATE OR REPLACE FUNCTION allocation_resolve(
    p_providers uuid[], p_classes text[], OUT providers bigint[], OUT classes int[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_place int;
BEGIN
    SELECT coalesce(array_agg(found.provider), '{}'), coalesce(array_agg(found.class), '{}') INTO providers, classes
    FROM (
        SELECT (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = wanted.provider) AS provider,
            (SELECT class.id FROM resource_classes AS class WHERE class.name = wanted.class) AS class
        FROM unnest(p_providers, p_classes) WITH ORDINALITY AS wanted (provider, class, place)
        ORDER BY wanted.place
    ) AS found;
    v_place := array_position(providers, NULL);
    IF v_place IS NOT NULL THEN
        RAISE EXCEPTION 'allocation for provider % that does not exist', p_providers[v_place]
            USING ERRCODE = 'PL009', DETAIL = json_build_object('provider', p_providers[v_place]);
    END IF;
    v_place := array_position(classes, NULL);
    IF v_place IS NOT NULL THEN
        RAISE EXCEPTION 'no resource class %', p_classes[v_place]
            USING ERRCODE = 'PL004', DETAIL = json_build_object('class', p_classes[v_place]);
    END IF;
END
$$;
