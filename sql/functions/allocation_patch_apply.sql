-- Writes the changes of allocation_patch_changes if they fit: inventories.used, the allocations, and the generations of
-- the providers.
--
-- Raises PL010, PL011 and PL012 for the first change that does not fit, and 40001 if a provider was deleted since its
-- name was resolved (see allocation_raise_error). A removed or reduced amount always fits the capacity.
-- Locks: the providers in the order of their ids. The caller has locked the consumer.
-- Calls: allocation_lock_providers; allocation_raise_error, if a change does not fit.
CREATE OR REPLACE FUNCTION allocation_patch_apply(
    p_consumer_id bigint, p_providers bigint[], p_classes int[], p_amounts bigint[], p_previous bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_unfit_providers bigint[] := '{}'::bigint[];
    v_unfit_classes int[] := '{}'::int[];
BEGIN
    PERFORM /* allocation_patch_apply 1/6 */ allocation_lock_providers('{}', p_providers);
    FOR i IN 1 .. cardinality(p_providers) LOOP
        UPDATE /* allocation_patch_apply 2/6 */ inventories SET used = used + p_amounts[i] - p_previous[i]
        WHERE provider_id = p_providers[i] AND class_id = p_classes[i]
          AND (p_amounts[i] = 0 OR min_unit <= p_amounts[i] AND max_unit >= p_amounts[i]
              AND p_amounts[i] % step_size = 0
              -- Amounts can be as large as bigint; on this side of the comparison nothing overflows.
              AND p_amounts[i] - p_previous[i] <= greatest((total - reserved) * allocation_ratio - used, 0));
        IF NOT FOUND THEN
            v_unfit_providers := v_unfit_providers || p_providers[i];
            v_unfit_classes := v_unfit_classes || p_classes[i];
        END IF;
    END LOOP;
    IF cardinality(v_unfit_providers) > 0 THEN
        PERFORM /* allocation_patch_apply 3/6 */ allocation_raise_error(v_unfit_providers, v_unfit_classes,
            p_providers, p_classes, p_amounts, p_providers, p_classes,
            ARRAY(SELECT -item.amount FROM unnest(p_previous) WITH ORDINALITY AS item (amount, position)
                ORDER BY item.position));
    END IF;
    FOR i IN 1 .. cardinality(p_providers) LOOP
        IF p_amounts[i] = 0 THEN
            DELETE /* allocation_patch_apply 4/6 */ FROM allocations
            WHERE consumer_id = p_consumer_id AND provider_id = p_providers[i] AND class_id = p_classes[i];
        ELSE
            INSERT /* allocation_patch_apply 5/6 */ INTO allocations (consumer_id, provider_id, class_id, used)
            VALUES (p_consumer_id, p_providers[i], p_classes[i], p_amounts[i])
            ON CONFLICT (consumer_id, provider_id, class_id) DO UPDATE SET used = excluded.used;
        END IF;
    END LOOP;
    UPDATE /* allocation_patch_apply 6/6 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (p_providers);
END
$$;
