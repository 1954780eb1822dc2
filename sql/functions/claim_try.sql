-- Claims one candidate for a consumer. The caller calls it in a subtransaction, so a failure releases its locks.
--
-- p_consumers, p_generations, p_projects, p_users, p_types: what consumer_lock returned for the consumer and, if its
-- previous allocations are handed over, the consumer that gets them. p_previous: providers with previous allocations.
-- p_providers, p_classes, p_amounts: the candidate's allocations. The others: see claim_compare.
-- Previous allocations that are handed over are not checked against the inventories, because usages do not change. The
-- generations of their providers are incremented.
-- Raises PL063 (without p_wait: another transaction has locked a provider), PL061 (see claim_compare), PL010, PL011,
-- PL012, 40001 (see allocation_raise_error).
-- Locks: the candidate's providers and p_previous in the order of their ids, without p_wait with SKIP LOCKED. The caller
-- has locked the consumers.
-- Calls: claim_compare, allocation_apply.
CREATE OR REPLACE FUNCTION claim_try(
    p_wait bool, p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types int[],
    p_previous bigint[], p_providers bigint[], p_classes int[], p_amounts bigint[],
    p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked int;
BEGIN
    IF p_wait THEN
        PERFORM /* claim_try 1/7 */ FROM provider_generations AS generation_row
        WHERE generation_row.provider_id = ANY (p_providers || p_previous)
        ORDER BY generation_row.provider_id FOR NO KEY UPDATE;
    ELSE
        PERFORM /* claim_try 2/7 */ FROM provider_generations AS generation_row
        WHERE generation_row.provider_id = ANY (p_providers || p_previous)
        ORDER BY generation_row.provider_id FOR NO KEY UPDATE SKIP LOCKED;
        GET DIAGNOSTICS v_locked = ROW_COUNT;
        IF v_locked < (SELECT /* claim_try 3/7 */ count(DISTINCT wanted.id) FROM unnest(p_providers || p_previous) AS wanted (id)) THEN
            RAISE EXCEPTION 'another transaction has locked a provider' USING ERRCODE = 'PL063', DETAIL = '{}';
        END IF;
    END IF;
    PERFORM /* claim_try 4/7 */ claim_compare(p_guards, p_revisions, p_anchors, p_shared);
    IF cardinality(p_consumers) > 1 THEN
        UPDATE /* claim_try 5/7 */ allocations SET consumer_id = p_consumers[2] WHERE consumer_id = p_consumers[1];
    END IF;
    PERFORM /* claim_try 6/7 */ allocation_apply(p_consumers[1:1], p_generations[1:1], p_projects[1:1], p_users[1:1],
        p_types[1:1], array_fill(1, ARRAY[cardinality(p_providers)]), p_providers, p_classes, p_amounts);
    IF cardinality(p_consumers) > 1 THEN
        UPDATE /* claim_try 7/7 */ provider_generations SET generation = generation + 1, updated_at = now()
        WHERE provider_id = ANY (ARRAY(
            SELECT previous.id FROM unnest(p_previous) AS previous (id) WHERE previous.id <> ALL (p_providers)));
    END IF;
END
$$;
