-- Compares the consumers of PATCH /reshaper with the request.
--
-- p_ids, p_actual: what reshape_patch_consumers returned. p_given -1: do not compare. p_unseen: the request expects that
-- the consumer does not exist. p_removed: the request removes all allocations of the consumer, whether it exists or not.
-- Raises for the first that differs: PL075 (does not exist, and the request does not create it), PL003 (generation).
CREATE OR REPLACE FUNCTION reshape_patch_check_consumers(
    p_consumers uuid[], p_ids bigint[], p_actual bigint[], p_given bigint[], p_unseen bool[], p_removed bool[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_consumers) LOOP
        IF p_ids[i] = 0 AND NOT p_removed[i] THEN
            RAISE EXCEPTION 'no consumer %', p_consumers[i] USING ERRCODE = 'PL075',
                DETAIL = json_build_object('consumer', p_consumers[i]);
        END IF;
        IF p_actual[i] >= 0 AND (p_unseen[i] OR p_given[i] >= 0 AND p_actual[i] <> p_given[i]) THEN
            PERFORM /* reshape_patch_check_consumers 1/1 */ consumer_check_generation(p_consumers[i : i], p_actual[i : i], p_given[i : i], p_unseen[i : i]);
        END IF;
    END LOOP;
END
$$;
