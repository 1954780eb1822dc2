-- Ids of the providers that allocations name, in their order.
--
-- Raises PL009 for the first that does not exist. Locks nothing.
CREATE OR REPLACE FUNCTION allocation_provider_ids(p_providers uuid[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_ids bigint[];
    v_unknown uuid;
BEGIN
    SELECT array_agg(provider.id ORDER BY wanted.place),
           (array_agg(wanted.uuid ORDER BY wanted.place) FILTER (WHERE provider.id IS NULL))[1]
    INTO v_ids, v_unknown
    FROM unnest(p_providers) WITH ORDINALITY AS wanted (uuid, place)
    LEFT JOIN resource_providers AS provider ON provider.uuid = wanted.uuid;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'allocation for provider % that does not exist', v_unknown USING ERRCODE = 'PL009',
            DETAIL = json_build_object('provider', v_unknown);
    END IF;
    RETURN coalesce(v_ids, '{}');
END
$$;
