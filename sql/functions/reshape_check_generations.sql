-- Compares the generations of the providers of a reshape with those in the request.
--
-- A null generation of the request is not compared.
-- Raises for the first that differs: PL001 (does not exist), PL002 (generation).
-- p_locked: the providers that the caller has locked; any other provider was created later and counts as
-- not existing.
CREATE OR REPLACE FUNCTION reshape_check_generations(p_inventories jsonb, p_locked bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_wrong record;
BEGIN
    SELECT /* reshape_check_generations 1/1 */ shape.provider, generation_row.generation AS actual, shape.generation
        AS given INTO v_wrong
    FROM reshape_providers(p_inventories) AS shape
    LEFT JOIN provider_generations AS generation_row ON generation_row.provider_id = shape.provider_id
        AND generation_row.provider_id = ANY (p_locked)
    WHERE generation_row.generation IS NULL OR generation_row.generation <> shape.generation
    ORDER BY shape.request_position
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'provider % has generation %, not %', v_wrong.provider, v_wrong.actual, v_wrong.given
            USING ERRCODE = CASE WHEN v_wrong.actual IS NULL THEN 'PL001' ELSE 'PL002' END,
            DETAIL = json_build_object('provider', v_wrong.provider, 'actual', v_wrong.actual, 'given', v_wrong.given);
    END IF;
END
$$;
