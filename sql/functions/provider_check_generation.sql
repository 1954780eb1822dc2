-- Compares the generation of a provider with that of a request.
--
-- p_given null: do not compare. Raises PL002 if they differ. Locks nothing; the caller has read p_actual under the
-- lock that it needs.
CREATE OR REPLACE FUNCTION provider_check_generation(p_uuid uuid, p_actual bigint, p_given bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p_actual <> p_given THEN
        RAISE EXCEPTION 'generation of provider % is %, not %', p_uuid, p_actual, p_given
            USING ERRCODE = 'PL002',
            DETAIL = json_build_object('provider', p_uuid, 'actual', p_actual, 'given', p_given);
    END IF;
END
$$;
