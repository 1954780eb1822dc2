-- Raises the error for the first allocation that allocation_claim_providers or allocation_change did not
-- write.
--
-- The consumer's allocations in the table are those that fit. p_old_… are its previous allocations; the other
-- arrays are those of the request.
-- Raises PL009, PL004 (see allocation_resolve), PL010, PL011, PL012 (see allocation_raise_error), and 40001
-- if a name was created since the write resolved it.
-- Calls: allocation_resolve, allocation_raise_error.
CREATE OR REPLACE FUNCTION allocation_raise_unwritten(
    p_consumer_id bigint, p_providers uuid[], p_classes text[], p_amounts bigint[],
    p_old_providers bigint[], p_old_classes int[], p_old_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_named record;
    v_unwritten_providers bigint[];
    v_unwritten_classes int[];
BEGIN
    v_named := allocation_resolve(p_providers, p_classes);
    SELECT /* allocation_raise_unwritten 1/2 */ array_agg(unwritten.provider_id), array_agg(unwritten.class_id)
    INTO v_unwritten_providers, v_unwritten_classes
    FROM (
        SELECT requested.provider_id, requested.class_id
        FROM unnest(v_named.providers, v_named.classes) AS requested (provider_id, class_id)
        EXCEPT SELECT written.provider_id, written.class_id
        FROM allocations AS written WHERE written.consumer_id = p_consumer_id
    ) AS unwritten;
    PERFORM /* allocation_raise_unwritten 2/2 */ allocation_raise_error(v_unwritten_providers, v_unwritten_classes,
        v_named.providers, v_named.classes, p_amounts,
        p_old_providers, p_old_classes,
        ARRAY(SELECT -old.used FROM unnest(p_old_amounts) WITH ORDINALITY AS old (used, position)
            ORDER BY old.position));
END
$$;
