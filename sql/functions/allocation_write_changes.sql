-- Writes changes of allocations of any consumers if they fit: inventories.used and the allocations.
--
-- The arrays are those that allocation_differences returns: the amount 0 deletes an allocation. It does not write generations and
-- consumers. Raises PL010, PL011 and PL012 for the first change that does not fit, and 40001 if a provider was deleted
-- since its name was resolved (see allocation_raise_error). A removed or reduced amount always fits the capacity.
-- Locks: nothing more. The caller has locked the consumers and providers.
-- Calls: allocation_raise_error, if a change does not fit.
CREATE OR REPLACE FUNCTION allocation_write_changes(
    p_consumers bigint[], p_providers bigint[], p_classes int[], p_amounts bigint[], p_previous bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_key record;
    v_unfit_providers bigint[] := '{}'::bigint[];
    v_unfit_classes int[] := '{}'::int[];
    v_wanted record;
BEGIN
    -- One update for each provider and class, for any number of consumers, as in allocation_apply.
    FOR v_key IN
        SELECT /* allocation_write_changes 1/6 */ change.provider_id, change.class_id,
            least(sum(change.amount), 1e18)::bigint AS added, sum(change.previous)::bigint AS released,
            coalesce(min(change.amount) FILTER (WHERE change.amount > 0), 2147483647) AS smallest,
            max(change.amount) AS largest, gcd_of(change.amount) AS step
        FROM unnest(p_providers, p_classes, p_amounts, p_previous) AS change (provider_id, class_id, amount, previous)
        GROUP BY change.provider_id, change.class_id ORDER BY change.provider_id, change.class_id
    LOOP
        UPDATE /* allocation_write_changes 2/6 */ inventories SET used = used + v_key.added - v_key.released
        WHERE provider_id = v_key.provider_id AND class_id = v_key.class_id
          AND (v_key.largest = 0 OR min_unit <= v_key.smallest AND max_unit >= v_key.largest
              AND v_key.step % step_size = 0
              -- Amounts can be as large as bigint; on this side of the comparison nothing overflows.
              AND (v_key.added - v_key.released <= (total - reserved) * allocation_ratio - used
                  OR v_key.added <= v_key.released));
        IF NOT FOUND THEN
            v_unfit_providers := v_unfit_providers || v_key.provider_id;
            v_unfit_classes := v_unfit_classes || v_key.class_id;
        END IF;
    END LOOP;
    IF cardinality(v_unfit_providers) > 0 THEN
        SELECT /* allocation_write_changes 3/6 */ array_agg(change.provider_id ORDER BY change.position) AS providers,
            array_agg(change.class_id ORDER BY change.position) AS classes,
            array_agg(change.amount ORDER BY change.position) AS amounts
        INTO v_wanted
        FROM unnest(p_providers, p_classes, p_amounts) WITH ORDINALITY
            AS change (provider_id, class_id, amount, position) WHERE change.amount > 0;
        PERFORM /* allocation_write_changes 4/6 */ allocation_raise_error(v_unfit_providers, v_unfit_classes,
            v_wanted.providers, v_wanted.classes, v_wanted.amounts, p_providers, p_classes,
            ARRAY(SELECT -item.amount FROM unnest(p_previous) WITH ORDINALITY AS item (amount, position)
                ORDER BY item.position));
    END IF;
    FOR i IN 1 .. cardinality(p_providers) LOOP
        IF p_amounts[i] = 0 THEN
            DELETE /* allocation_write_changes 5/6 */ FROM allocations
            WHERE consumer_id = p_consumers[i] AND provider_id = p_providers[i] AND class_id = p_classes[i];
        ELSE
            INSERT /* allocation_write_changes 6/6 */ INTO allocations (consumer_id, provider_id, class_id, used)
            VALUES (p_consumers[i], p_providers[i], p_classes[i], p_amounts[i])
            ON CONFLICT (consumer_id, provider_id, class_id) DO UPDATE SET used = excluded.used;
        END IF;
    END LOOP;
END
$$;
