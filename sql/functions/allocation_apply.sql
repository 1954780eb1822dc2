-- Replaces all allocations of the given consumers if the new ones fit, and updates inventories.used and the
-- generations.
--
-- p_consumers, p_generations (-1: new), p_projects, p_users, p_types: what consumer_lock returned. The
-- other arrays have one element per allocation, in the order of the request; p_owners is the position (from
-- 1) of its consumer.
--
-- If an allocation does not fit, allocation_raise_error raises; its header defines when an allocation fits.
-- It increments the generation of each provider that the new allocations name, and of each provider on
-- which a consumer without new allocations had some. A provider that loses one of several allocations of a
-- consumer keeps its generation. It deletes consumers without new allocations. It increments the generation
-- of the others and sets their project, user and, if given, type.
-- Locks: nothing more. The caller has locked the consumers and providers.
CREATE OR REPLACE FUNCTION allocation_apply(
    p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types int[],
    p_owners int[], p_providers bigint[], p_classes int[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_deleted_consumers bigint[] := '{}'::bigint[];
    v_deleted_providers bigint[] := '{}'::bigint[];
    v_deleted_classes int[] := '{}'::int[];
    v_deleted_amounts bigint[] := '{}'::bigint[];
    v_providers bigint[] := p_providers;
    v_classes int[] := p_classes;
    v_added bigint[] := p_amounts;
    v_released bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_amounts)]);
    v_smallest bigint[] := p_amounts;
    v_largest bigint[] := p_amounts;
    v_step bigint[] := p_amounts;
    v_over_capacity_providers bigint[] := '{}'::bigint[];
    v_over_capacity_classes int[] := '{}'::int[];
    v_owns bool[] := array_fill(false, ARRAY[cardinality(p_consumers)]);
    v_emptied bigint[] := '{}'::bigint[];
    v_left bigint[] := '{}'::bigint[];
BEGIN
    IF 0 <= ANY (p_generations) THEN
        WITH /* allocation_apply 1/9 */ deleted AS (
            DELETE FROM allocations AS allocation WHERE allocation.consumer_id = ANY (p_consumers)
            RETURNING allocation.consumer_id, allocation.provider_id, allocation.class_id, allocation.used
        )
        SELECT coalesce(array_agg(deleted.consumer_id), '{}'), coalesce(array_agg(deleted.provider_id), '{}'),
            coalesce(array_agg(deleted.class_id), '{}'), coalesce(array_agg(-deleted.used), '{}')
        INTO v_deleted_consumers, v_deleted_providers, v_deleted_classes, v_deleted_amounts
        FROM deleted;
    END IF;

    -- One update for each provider and class, for any number of consumers: each further update of
    -- the same row in one transaction is slower than the one before. Released amounts count as
    -- negative. Sums above any capacity are clamped. For one new consumer no sums are necessary.
    IF cardinality(p_consumers) > 1 OR 0 <= ANY (p_generations) THEN
        SELECT /* allocation_apply 2/9 */ array_agg(key.provider_id), array_agg(key.class_id), array_agg(key.added),
            array_agg(key.released),
            array_agg(key.smallest), array_agg(key.largest), array_agg(key.step)
        INTO v_providers, v_classes, v_added, v_released, v_smallest, v_largest, v_step
        FROM (
            SELECT moved.provider_id, moved.class_id,
                least(sum(greatest(moved.amount, 0)), 1e18)::bigint AS added,
                sum(-least(moved.amount, 0))::bigint AS released,
                coalesce(min(moved.amount) FILTER (WHERE moved.amount > 0), 2147483647) AS smallest,
                greatest(max(moved.amount), 0) AS largest,
                gcd_of(greatest(moved.amount, 0)) AS step
            FROM unnest(p_providers || v_deleted_providers, p_classes || v_deleted_classes,
                p_amounts || v_deleted_amounts)
                AS moved (provider_id, class_id, amount)
            GROUP BY moved.provider_id, moved.class_id
        ) AS key;
    END IF;
    FOR i IN 1 .. coalesce(cardinality(v_providers), 0) LOOP
        UPDATE /* allocation_apply 3/9 */ inventories SET used = used + v_added[i] - v_released[i]
        WHERE provider_id = v_providers[i] AND class_id = v_classes[i]
          AND min_unit <= v_smallest[i] AND max_unit >= v_largest[i] AND v_step[i] % step_size = 0
          -- Amounts can be as large as bigint; on this side of the comparison nothing overflows.
          AND (v_added[i] - v_released[i] <= (total - reserved) * allocation_ratio - used
              OR v_added[i] <= v_released[i]);
        IF NOT FOUND THEN
            v_over_capacity_providers := v_over_capacity_providers || v_providers[i];
            v_over_capacity_classes := v_over_capacity_classes || v_classes[i];
        END IF;
    END LOOP;
    IF cardinality(v_over_capacity_providers) > 0 THEN
        PERFORM /* allocation_apply 4/9 */ allocation_raise_error(v_over_capacity_providers, v_over_capacity_classes,
            p_providers, p_classes, p_amounts,
            v_deleted_providers, v_deleted_classes, v_deleted_amounts);
    END IF;
    INSERT /* allocation_apply 5/9 */ INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT p_consumers[item.owner], item.provider_id, item.class_id, item.amount
    FROM unnest(p_owners, p_providers, p_classes, p_amounts) WITH ORDINALITY
        AS item (owner, provider_id, class_id, amount, position)
    ORDER BY item.position;

    FOR i IN 1 .. cardinality(p_owners) LOOP
        v_owns[p_owners[i]] := true;
    END LOOP;
    FOR i IN 1 .. cardinality(p_consumers) LOOP
        IF NOT v_owns[i] THEN
            DELETE /* allocation_apply 6/9 */ FROM consumers WHERE id = p_consumers[i];
            v_emptied := v_emptied || p_consumers[i];
        ELSIF p_generations[i] >= 0 THEN
            UPDATE /* allocation_apply 7/9 */ consumers
                SET generation = generation + 1, updated_at = now(), project_id = p_projects[i],
                user_id = p_users[i], consumer_type_id = coalesce(nullif(p_types[i], 0), consumer_type_id)
            WHERE id = p_consumers[i];
        END IF;
    END LOOP;
    IF cardinality(v_emptied) > 0 THEN
        v_left := ARRAY(
            SELECT /* allocation_apply 8/9 */ deleted.provider_id
            FROM unnest(v_deleted_consumers, v_deleted_providers) AS deleted (consumer_id, provider_id)
            WHERE deleted.consumer_id = ANY (v_emptied));
    END IF;
    UPDATE /* allocation_apply 9/9 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (p_providers || v_left);
END
$$;
