-- Returns the ids of the providers and classes that allocations name, in the order of the names.
--
-- Raises PL009 for the first provider that does not exist, otherwise PL004 for the first such class. Locks
-- nothing: allocation_apply detects that a provider was deleted meanwhile, and a class in use cannot be
-- deleted.
CREATE OR REPLACE FUNCTION allocation_resolve(
    p_providers uuid[], p_classes text[], OUT providers bigint[], OUT classes int[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_position int;
BEGIN
    SELECT /* allocation_resolve 1/1 */ coalesce(array_agg(found.provider), '{}'),
        coalesce(array_agg(found.class), '{}') INTO providers, classes
    FROM (
        SELECT (SELECT provider.id FROM resource_providers AS provider
            WHERE provider.uuid = requested.provider) AS provider,
            (SELECT class.id FROM resource_classes AS class WHERE class.name = requested.class) AS class
        FROM unnest(p_providers, p_classes) WITH ORDINALITY AS requested (provider, class, position)
        ORDER BY requested.position
    ) AS found;
    v_position := array_position(providers, NULL);
    IF v_position IS NOT NULL THEN
        RAISE EXCEPTION 'allocation for provider % that does not exist', p_providers[v_position]
            USING ERRCODE = 'PL009', DETAIL = json_build_object('provider', p_providers[v_position]);
    END IF;
    v_position := array_position(classes, NULL);
    IF v_position IS NOT NULL THEN
        RAISE EXCEPTION 'no resource class %', p_classes[v_position]
            USING ERRCODE = 'PL004', DETAIL = json_build_object('class', p_classes[v_position]);
    END IF;
END
$$;
