-- POST /claims for several consumers: claims one placement for all of them, or for none.
--
-- p_consumers, p_projects, p_users, p_types: consumers that must not exist. p_owners is the position (from 1) of the consumer
-- of each allocation. p_guards to p_shared: see claim_compare.
-- Returns the allocations of the consumers, see claim_show.
-- Raises PL003 (a consumer exists), PL060 (an allocation does not fit, or a provider has changed since the search).
-- Locks: projects, users and types by name; consumers by UUID; all providers in the order of their ids.
-- Calls: consumer_lock, consumer_check_generation, allocation_lock_providers, claim_compare, allocation_apply, claim_show.
CREATE OR REPLACE FUNCTION claim_create_many(
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[],
    p_owners int[], p_providers bigint[], p_classes int[], p_amounts bigint[],
    p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]
) RETURNS TABLE (
    claimed_place int, claimed_generation bigint, claimed_provider uuid, claimed_provider_generation bigint,
    claimed_class text, claimed_used bigint
)
LANGUAGE plpgsql AS $$
DECLARE
    v_unseen bool[] := array_fill(true, ARRAY[cardinality(p_consumers)]);
    v_consumers record;
    v_failed text;
BEGIN
    v_consumers := consumer_lock(p_consumers, p_projects, p_users, p_types, v_unseen);
    PERFORM /* claim_create_many 1/5 */ consumer_check_generation(p_consumers, v_consumers.generations,
        array_fill(NULL::bigint, ARRAY[cardinality(p_consumers)]), v_unseen);
    PERFORM /* claim_create_many 2/5 */ allocation_lock_providers(v_consumers.ids, p_providers);
    BEGIN
        PERFORM /* claim_create_many 3/5 */ claim_compare(p_guards, p_revisions, p_anchors, p_shared);
        PERFORM /* claim_create_many 4/5 */ allocation_apply(v_consumers.ids, v_consumers.generations, v_consumers.projects, v_consumers.users,
            v_consumers.types, p_owners, p_providers, p_classes, p_amounts);
    EXCEPTION
        WHEN SQLSTATE 'PL010' OR SQLSTATE 'PL011' OR SQLSTATE 'PL012' THEN v_failed := 'full';
        WHEN SQLSTATE 'PL061' OR SQLSTATE '40001' THEN v_failed := 'stale';
    END;
    IF v_failed IS NOT NULL THEN
        RAISE EXCEPTION 'the placement does not fit any more' USING ERRCODE = 'PL060',
            DETAIL = json_build_object(v_failed, 1);
    END IF;
    RETURN QUERY SELECT /* claim_create_many 5/5 */ shown.* FROM claim_show(v_consumers.ids) AS shown;
END
$$;
