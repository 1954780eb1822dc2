-- Compares the providers of a reshape with what the client knows of them.
--
-- Raises for the first that differs: PL001 (does not exist), PL002 (generation).
-- p_held: the providers that the caller holds; any other came too late to exist.
CREATE OR REPLACE FUNCTION reshape_check_providers(p_inventories jsonb, p_held bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_wrong record;
BEGIN
    SELECT shape.provider, held.generation AS actual, shape.generation AS given INTO v_wrong
    FROM reshape_shapes(p_inventories) AS shape
    LEFT JOIN provider_generations AS held ON held.provider_id = shape.provider_id AND held.provider_id = ANY (p_held)
    WHERE held.generation IS DISTINCT FROM shape.generation
    ORDER BY shape.place
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'provider % has generation %, not %', v_wrong.provider, v_wrong.actual, v_wrong.given
            USING ERRCODE = CASE WHEN v_wrong.actual IS NULL THEN 'PL001' ELSE 'PL002' END,
            DETAIL = json_build_object('provider', v_wrong.provider, 'actual', v_wrong.actual, 'given', v_wrong.given);
    END IF;
END
$$;
