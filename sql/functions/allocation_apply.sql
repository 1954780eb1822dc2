-- Replaces all allocations of some consumers, if the new ones fit, and moves
-- inventories.used and the generations with them.
--
-- p_consumers, p_generations (-1: new), p_projects, p_users, p_types: what
-- consumer_lock returned. The other arrays have one element an allocation, in
-- request order; p_owners is the place (from 1) of its consumer.
--
-- Allocations that do not fit are refused by allocation_refuse, which says what
-- fitting means. Providers named in the new allocations gain a generation, and so
-- do those that an emptied consumer had; a provider that merely loses one of
-- several allocations does not. Emptied consumers are gone; others gain a
-- generation and take project, user and, if given, type of the request.
-- The caller holds consumers and providers.
CREATE OR REPLACE FUNCTION allocation_apply(
    p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types int[],
    p_owners int[], p_providers bigint[], p_classes int[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_gone_consumers bigint[] := '{}'::bigint[];
    v_gone_providers bigint[] := '{}'::bigint[];
    v_gone_classes int[] := '{}'::int[];
    v_gone_amounts bigint[] := '{}'::bigint[];
    v_providers bigint[] := p_providers;
    v_classes int[] := p_classes;
    v_taken bigint[] := p_amounts;
    v_freed bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_amounts)]);
    v_smallest bigint[] := p_amounts;
    v_largest bigint[] := p_amounts;
    v_step bigint[] := p_amounts;
    v_full_providers bigint[] := '{}'::bigint[];
    v_full_classes int[] := '{}'::int[];
    v_owns bool[] := array_fill(false, ARRAY[cardinality(p_consumers)]);
    v_emptied bigint[] := '{}'::bigint[];
    v_left bigint[] := '{}'::bigint[];
BEGIN
    IF 0 <= ANY (p_generations) THEN
        WITH gone AS (
            DELETE FROM allocations AS taken WHERE taken.consumer_id = ANY (p_consumers)
            RETURNING taken.consumer_id, taken.provider_id, taken.class_id, taken.used
        )
        SELECT coalesce(array_agg(gone.consumer_id), '{}'), coalesce(array_agg(gone.provider_id), '{}'),
            coalesce(array_agg(gone.class_id), '{}'), coalesce(array_agg(-gone.used), '{}')
        INTO v_gone_consumers, v_gone_providers, v_gone_classes, v_gone_amounts
        FROM gone;
    END IF;

    -- One update for each provider and class, however many consumers move: a row
    -- that one transaction updates again and again grows slower each time. What is
    -- given back counts as negative. Sums beyond any capacity are cut to fit. One
    -- new consumer has nothing to be summed.
    IF cardinality(p_consumers) > 1 OR 0 <= ANY (p_generations) THEN
        SELECT array_agg(key.provider_id), array_agg(key.class_id), array_agg(key.taken), array_agg(key.freed),
            array_agg(key.smallest), array_agg(key.largest), array_agg(key.step)
        INTO v_providers, v_classes, v_taken, v_freed, v_smallest, v_largest, v_step
        FROM (
            SELECT moved.provider_id, moved.class_id,
                least(sum(greatest(moved.amount, 0)), 1e18)::bigint AS taken,
                sum(-least(moved.amount, 0))::bigint AS freed,
                coalesce(min(moved.amount) FILTER (WHERE moved.amount > 0), 2147483647) AS smallest,
                greatest(max(moved.amount), 0) AS largest,
                gcd_of(greatest(moved.amount, 0)) AS step
            FROM unnest(p_providers || v_gone_providers, p_classes || v_gone_classes, p_amounts || v_gone_amounts)
                AS moved (provider_id, class_id, amount)
            GROUP BY moved.provider_id, moved.class_id
        ) AS key;
    END IF;
    FOR i IN 1 .. coalesce(cardinality(v_providers), 0) LOOP
        UPDATE inventories SET used = used + v_taken[i] - v_freed[i]
        WHERE provider_id = v_providers[i] AND class_id = v_classes[i]
          AND min_unit <= v_smallest[i] AND max_unit >= v_largest[i] AND v_step[i] % step_size = 0
          -- Amounts reach the end of bigint; on this side of the comparison nothing overflows.
          AND (v_taken[i] - v_freed[i] <= (total - reserved) * allocation_ratio - used OR v_taken[i] <= v_freed[i]);
        IF NOT FOUND THEN
            v_full_providers := v_full_providers || v_providers[i];
            v_full_classes := v_full_classes || v_classes[i];
        END IF;
    END LOOP;
    IF cardinality(v_full_providers) > 0 THEN
        PERFORM allocation_refuse(v_full_providers, v_full_classes, p_providers, p_classes, p_amounts,
            v_gone_providers, v_gone_classes, v_gone_amounts);
    END IF;
    INSERT INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT p_consumers[item.owner], item.provider_id, item.class_id, item.amount
    FROM unnest(p_owners, p_providers, p_classes, p_amounts) WITH ORDINALITY
        AS item (owner, provider_id, class_id, amount, place)
    ORDER BY item.place;

    FOR i IN 1 .. cardinality(p_owners) LOOP
        v_owns[p_owners[i]] := true;
    END LOOP;
    FOR i IN 1 .. cardinality(p_consumers) LOOP
        IF NOT v_owns[i] THEN
            DELETE FROM consumers WHERE id = p_consumers[i];
            v_emptied := v_emptied || p_consumers[i];
        ELSIF p_generations[i] >= 0 THEN
            UPDATE consumers SET generation = generation + 1, updated_at = now(), project_id = p_projects[i],
                user_id = p_users[i], consumer_type_id = coalesce(nullif(p_types[i], 0), consumer_type_id)
            WHERE id = p_consumers[i];
        END IF;
    END LOOP;
    IF cardinality(v_emptied) > 0 THEN
        v_left := ARRAY(
            SELECT gone.provider_id FROM unnest(v_gone_consumers, v_gone_providers) AS gone (consumer_id, provider_id)
            WHERE gone.consumer_id = ANY (v_emptied));
    END IF;
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (p_providers || v_left);
END
$$;
