-- Says which allocation of an allocation_claim could not be written.
--
-- p_provider_id and p_class_ids are the ids that the names had, null for those that
-- had none. What was written for the consumer fits.
-- Raises PL009, PL004 (see allocation_resolve), PL010, PL011, PL012 (see
-- allocation_refuse), and 40001 for a name that came into being since.
CREATE OR REPLACE FUNCTION allocation_claim_refuse(
    p_consumer_id bigint, p_provider uuid, p_provider_id bigint, p_classes text[], p_class_ids int[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_providers bigint[] := array_fill(p_provider_id, ARRAY[cardinality(p_classes)]);
    v_full int[];
BEGIN
    IF p_provider_id IS NULL OR array_position(p_class_ids, NULL) IS NOT NULL THEN
        PERFORM allocation_resolve(array_fill(p_provider, ARRAY[cardinality(p_classes)]), p_classes);
        RAISE EXCEPTION 'names of a claim on provider % are new', p_provider USING ERRCODE = '40001';
    END IF;
    v_full := ARRAY(
        SELECT wanted.class_id FROM unnest(p_class_ids) AS wanted (class_id)
        EXCEPT SELECT written.class_id FROM allocations AS written WHERE written.consumer_id = p_consumer_id);
    PERFORM allocation_refuse(v_providers, v_full, v_providers, p_class_ids, p_amounts,
        '{}'::bigint[], '{}'::int[], '{}'::bigint[]);
END
$$;
