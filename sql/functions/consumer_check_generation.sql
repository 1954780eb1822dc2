-- Compares the generations of consumers with those in the request.
--
-- p_actual is -1 for a new consumer. p_unseen is true where the request expects that the consumer does not
-- exist; p_given is then ignored. Raises PL003 for the first that differs. The caller has locked the
-- consumers.
CREATE OR REPLACE FUNCTION consumer_check_generation(
    p_uuids uuid[], p_actual bigint[], p_given bigint[], p_unseen bool[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_uuids) LOOP
        IF (p_actual[i] < 0) <> p_unseen[i] OR p_actual[i] >= 0 AND p_actual[i] <> p_given[i] THEN
            RAISE EXCEPTION 'generation of consumer % differs from the request', p_uuids[i]
                USING ERRCODE = 'PL003', DETAIL = json_build_object('consumer', p_uuids[i],
                    'actual', nullif(p_actual[i], -1),
                    'given', CASE WHEN NOT p_unseen[i] THEN p_given[i] END);
        END IF;
    END LOOP;
END
$$;
