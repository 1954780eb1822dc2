-- Providers of the consumers that a request leaves without any allocation.
--
-- Their generation rises; that of a provider which merely loses one of several
-- allocations of a consumer does not.
CREATE OR REPLACE FUNCTION allocation_left_providers(p_consumers bigint[], p_owners int[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT taken.provider_id
        FROM unnest(p_consumers) WITH ORDINALITY AS wanted (id, place)
        JOIN allocations AS taken ON taken.consumer_id = wanted.id
        WHERE wanted.place <> ALL (p_owners));
END
$$;
