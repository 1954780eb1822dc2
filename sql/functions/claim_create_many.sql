-- POST /claims for several consumers: claims one placement for all of them, or for none.
--
-- p_consumers, p_projects, p_users, p_types: consumers that must not exist. p_owners is the position (from 1) of the consumer
-- of each allocation. p_guards to p_shared: see claim_compare.
-- Returns the allocations of the consumers, see claim_show.
-- Raises PL003 (a consumer exists), PL060 (an allocation does not fit, or a provider has changed since the search).
-- Locks: projects, users and types by name; consumers by UUID; all providers in the order of their ids.
--
-- With berth.caller it notes the claims itself, one row of outbox for each consumer, as claim_create does.
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
    v_noted text;
BEGIN
    IF current_setting('berth.caller', true) <> '' THEN
        v_noted := set_config('berth.noted', 'on', true);
    END IF;
    v_consumers := consumer_lock(p_consumers, p_projects, p_users, p_types, v_unseen);
    PERFORM /* claim_create_many 1/6 */ consumer_check_generation(p_consumers, v_consumers.generations,
        array_fill(NULL::bigint, ARRAY[cardinality(p_consumers)]), v_unseen);
    PERFORM /* claim_create_many 2/6 */ allocation_lock_providers(v_consumers.ids, p_providers);
    BEGIN
        PERFORM /* claim_create_many 3/6 */ claim_compare(p_guards, p_revisions, p_anchors, p_shared);
        PERFORM /* claim_create_many 4/6 */ allocation_apply(v_consumers.ids, v_consumers.generations, v_consumers.projects, v_consumers.users,
            v_consumers.types, p_owners, p_providers, p_classes, p_amounts);
    EXCEPTION
        WHEN SQLSTATE 'PL010' OR SQLSTATE 'PL011' OR SQLSTATE 'PL012' THEN v_failed := 'full';
        WHEN SQLSTATE 'PL061' OR SQLSTATE '40001' THEN v_failed := 'stale';
    END;
    IF v_failed IS NOT NULL THEN
        RAISE EXCEPTION 'the placement does not fit any more' USING ERRCODE = 'PL060',
            DETAIL = json_build_object(v_failed, 1);
    END IF;
    IF v_noted = 'on' THEN
        RETURN QUERY WITH /* claim_create_many 5/6 */ shown AS (
            SELECT * FROM claim_show(v_consumers.ids)
        ), noted AS (
            INSERT INTO outbox (topic, consumer, after, providers, classes, amounts, generations)
            SELECT 'claim', p_consumers[shown.shown_place], jsonb_build_object('consumer_generation', 1,
                'project_id', p_projects[shown.shown_place], 'user_id', p_users[shown.shown_place],
                'consumer_type', nullif(p_types[shown.shown_place], '')),
                array_agg(shown.shown_provider), array_agg(shown.shown_class), array_agg(shown.shown_used),
                array_agg(shown.shown_provider_generation)
            FROM shown GROUP BY shown.shown_place ORDER BY shown.shown_place
        )
        SELECT shown.* FROM shown;
        v_noted := set_config('berth.noted', '', true);
        RETURN;
    END IF;
    RETURN QUERY SELECT /* claim_create_many 6/6 */ shown.* FROM claim_show(v_consumers.ids) AS shown;
END
$$;
