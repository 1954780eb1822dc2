-- Raises the error for the first allocation that allocation_claim did not write.
--
-- p_provider_id and p_class_ids are the ids of the names, null for names that do not exist. Allocations
-- that were written for the consumer fit.
-- Raises PL009, PL004 (see allocation_resolve), PL010, PL011, PL012 (see allocation_raise_error), and 40001
-- if a name was created since the claim resolved it.
CREATE OR REPLACE FUNCTION allocation_claim_raise_error(
    p_consumer_id bigint, p_provider uuid, p_provider_id bigint, p_classes text[], p_class_ids int[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_providers bigint[] := array_fill(p_provider_id, ARRAY[cardinality(p_classes)]);
    v_over_capacity int[];
BEGIN
    IF p_provider_id IS NULL OR array_position(p_class_ids, NULL) IS NOT NULL THEN
        PERFORM /* allocation_claim_raise_error 1/3 */ allocation_resolve(array_fill(p_provider,
            ARRAY[cardinality(p_classes)]), p_classes);
        RAISE EXCEPTION 'names in a claim on provider % were created concurrently', p_provider USING ERRCODE = '40001';
    END IF;
    v_over_capacity := ARRAY(
        SELECT /* allocation_claim_raise_error 2/3 */ requested.class_id
        FROM unnest(p_class_ids) AS requested (class_id)
        EXCEPT SELECT written.class_id FROM allocations AS written WHERE written.consumer_id = p_consumer_id);
    PERFORM /* allocation_claim_raise_error 3/3 */ allocation_raise_error(v_providers, v_over_capacity, v_providers,
        p_class_ids, p_amounts,
        '{}'::bigint[], '{}'::int[], '{}'::bigint[]);
END
$$;
