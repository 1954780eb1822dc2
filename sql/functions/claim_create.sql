-- POST /claims for one consumer: claims the first of several candidates that fits.
--
-- p_consumers, p_projects, p_users, p_types (empty: none): the consumer and, if its previous allocations are handed over,
-- the new consumer that gets them. p_generation null: the consumer must not exist. Without a second consumer its previous
-- allocations count as free capacity and are replaced.
-- p_ends: the position in p_providers, p_classes and p_amounts at which each candidate's allocations end; no two elements of a
-- candidate are for the same provider and class. p_guard_ends and p_link_ends are the same for p_guards and p_revisions, and
-- for p_anchors and p_shared: see claim_compare.
-- p_named: clients have named the candidates, see claim_create_named. They are tried in their order, and the error has the
-- reason of each. Otherwise they come from a search, and a second attempt with them makes no sense.
--
-- Returns all allocations of the consumers afterwards (see claim_show), in each row with: the chosen candidate (from 1); how
-- many candidates were full and how many had changed when they were locked; and how many were passed over because another
-- transaction had locked a provider.
-- The first pass takes no candidate with a locked provider (unless p_named), and ends after four of them. The second waits.
-- After the first failure claim_unfit looks at all candidates, and those that are full are left out. With p_named, the
-- same look decides at the end: if one fits by then, they are tried again, 16 times in all.
-- Raises PL003 (consumer generation), PL060 (no candidate is left; with p_named all were full at one moment), PL062 (after
-- 16 attempts), and with p_named 40001 if a provider or class was deleted since its name was resolved.
-- Locks: projects, users and types by name; consumers by UUID; then, candidate by candidate, its providers and those with
-- previous allocations of the consumer, in the order of their ids. Each try is a subtransaction, since its failure must
-- release its locks: waiting for a provider while one of another candidate is locked causes deadlocks.
--
-- With berth.caller (see history_step) it notes the claim of a new consumer in outbox itself, in its last statement, and the
-- triggers of the record skip its rows: they would note each of them. berth.noted is set before consumer_lock inserts the
-- consumer, and stays set if a try is rolled back. Other claims are noted by the triggers.
-- Calls: consumer_lock, consumer_check_generation, claim_unfit, claim_try, claim_show.
CREATE OR REPLACE FUNCTION claim_create(
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generation bigint,
    p_ends int[], p_providers bigint[], p_classes int[], p_amounts bigint[],
    p_guard_ends int[], p_guards bigint[], p_revisions bigint[],
    p_link_ends int[], p_anchors bigint[], p_shared bigint[], p_named bool
) RETURNS TABLE (
    chosen int, full_up int, stale int, held int,
    claimed_place int, claimed_generation bigint, claimed_provider uuid, claimed_provider_generation bigint,
    claimed_class text, claimed_used bigint
)
LANGUAGE plpgsql AS $$
DECLARE
    v_unseen bool[] := (ARRAY[p_generation IS NULL, true])[1:cardinality(p_consumers)];
    v_consumers record;
    v_previous record;
    v_fits bool[] := array_fill(true, ARRAY[cardinality(p_ends)]);
    v_wait bool := p_named;
    v_looked bool := false;
    v_attempt int := 0;
    v_unfit int[];
    v_refused jsonb;
    v_position int;
    v_noted text;
BEGIN
    full_up := 0;
    stale := 0;
    held := 0;
    -- A new consumer that takes nothing over: what this function returns is all that has changed.
    IF p_generation IS NULL AND cardinality(p_consumers) = 1 AND current_setting('berth.caller', true) <> '' THEN
        v_noted := set_config('berth.noted', 'on', true);
    END IF;
    v_consumers := consumer_lock(p_consumers, p_projects, p_users, p_types, v_unseen);
    PERFORM /* claim_create 1/7 */ consumer_check_generation(p_consumers, v_consumers.generations,
        ARRAY[p_generation, NULL], v_unseen);
    SELECT /* claim_create 2/7 */ coalesce(array_agg(had.provider_id), '{}') AS providers,
        coalesce(array_agg(had.provider_id) FILTER (WHERE cardinality(p_consumers) = 1), '{}') AS released_providers,
        coalesce(array_agg(had.class_id) FILTER (WHERE cardinality(p_consumers) = 1), '{}') AS released_classes,
        coalesce(array_agg(had.used) FILTER (WHERE cardinality(p_consumers) = 1), '{}') AS released_amounts
    INTO v_previous
    FROM allocations AS had WHERE had.consumer_id = v_consumers.ids[1];
    LOOP
        FOR i IN 1 .. cardinality(p_ends) LOOP
            EXIT WHEN NOT v_wait AND held >= 4;
            IF full_up + stale + held > 0 AND NOT v_looked THEN
                v_looked := true;
                v_unfit := ARRAY(SELECT /* claim_create 3/7 */ unfit.unfit_candidate FROM claim_unfit(p_ends, p_providers,
                    p_classes, p_amounts, v_previous.released_providers, v_previous.released_classes,
                    v_previous.released_amounts) AS unfit);
                FOREACH v_position IN ARRAY v_unfit LOOP
                    v_fits[v_position] := false;
                END LOOP;
            END IF;
            CONTINUE WHEN NOT v_fits[i];
            BEGIN
                PERFORM /* claim_create 4/7 */ claim_try(v_wait, v_consumers.ids, v_consumers.generations,
                    v_consumers.projects, v_consumers.users, v_consumers.types, v_previous.providers,
                    p_providers[coalesce(p_ends[i - 1], 0) + 1 : p_ends[i]],
                    p_classes[coalesce(p_ends[i - 1], 0) + 1 : p_ends[i]],
                    p_amounts[coalesce(p_ends[i - 1], 0) + 1 : p_ends[i]],
                    p_guards[coalesce(p_guard_ends[i - 1], 0) + 1 : p_guard_ends[i]],
                    p_revisions[coalesce(p_guard_ends[i - 1], 0) + 1 : p_guard_ends[i]],
                    p_anchors[coalesce(p_link_ends[i - 1], 0) + 1 : p_link_ends[i]],
                    p_shared[coalesce(p_link_ends[i - 1], 0) + 1 : p_link_ends[i]]);
                chosen := i;
            EXCEPTION
                WHEN SQLSTATE 'PL010' OR SQLSTATE 'PL011' OR SQLSTATE 'PL012' THEN
                    full_up := full_up + 1;
                    v_fits[i] := false;
                WHEN SQLSTATE 'PL061' THEN
                    stale := stale + 1;
                    v_fits[i] := false;
                WHEN SQLSTATE 'PL063' THEN
                    held := held + 1;
                WHEN SQLSTATE '40001' THEN
                    IF p_named THEN
                        RAISE;
                    END IF;
                    stale := stale + 1;
                    v_fits[i] := false;
            END;
            IF chosen IS NOT NULL THEN
                IF v_noted = 'on' THEN
                    RETURN QUERY WITH /* claim_create 5/7 */ shown AS (
                        SELECT * FROM claim_show(v_consumers.ids)
                    ), noted AS (
                        INSERT INTO outbox (topic, consumer, after, providers, classes, amounts, generations)
                        SELECT 'claim', p_consumers[1], jsonb_build_object('consumer_generation', 1,
                            'project_id', p_projects[1], 'user_id', p_users[1], 'consumer_type', nullif(p_types[1], '')),
                            array_agg(shown.shown_provider), array_agg(shown.shown_class), array_agg(shown.shown_used),
                            array_agg(shown.shown_provider_generation)
                        FROM shown
                    )
                    SELECT chosen, full_up, stale, held, shown.* FROM shown;
                    v_noted := set_config('berth.noted', '', true);
                    RETURN;
                END IF;
                RETURN QUERY SELECT /* claim_create 6/7 */ chosen, full_up, stale, held, shown.*
                FROM claim_show(v_consumers.ids) AS shown;
                RETURN;
            END IF;
        END LOOP;
        IF p_named THEN
            v_attempt := v_attempt + 1;
            SELECT /* claim_create 7/7 */ coalesce(array_agg(unfit.unfit_candidate), '{}'),
                jsonb_agg(jsonb_build_object('candidate', unfit.unfit_candidate - 1, 'rule', unfit.unfit_rule,
                    'provider', unfit.unfit_provider, 'class', unfit.unfit_class))
            INTO v_unfit, v_refused
            FROM claim_unfit(p_ends, p_providers, p_classes, p_amounts, v_previous.released_providers,
                v_previous.released_classes, v_previous.released_amounts) AS unfit;
            IF v_refused @> '[{"rule": "40001"}]' THEN
                RAISE EXCEPTION 'a provider or class of a candidate was deleted concurrently' USING ERRCODE = '40001';
            END IF;
            v_fits := array_fill(true, ARRAY[cardinality(p_ends)]);
            FOREACH v_position IN ARRAY v_unfit LOOP
                v_fits[v_position] := false;
            END LOOP;
        END IF;
        IF p_named AND true <> ALL (v_fits) OR NOT p_named AND (v_wait OR held = 0) THEN
            RAISE EXCEPTION 'none of % candidates is left', cardinality(p_ends) USING ERRCODE = 'PL060',
                DETAIL = json_build_object('full', full_up, 'stale', stale, 'held', held, 'refused', v_refused);
        ELSIF v_attempt = 16 THEN
            RAISE EXCEPTION 'other claims were faster % times', v_attempt
                USING ERRCODE = 'PL062', DETAIL = json_build_object('full', full_up);
        END IF;
        v_wait := true;
    END LOOP;
END
$$;
