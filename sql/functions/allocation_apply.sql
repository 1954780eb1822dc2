-- Replaces all allocations of some consumers, if the new ones fit, and moves
-- inventories.used and the generations with them.
--
-- p_consumers, p_generations (-1: new), p_projects, p_users, p_types: what
-- consumer_lock returned. The other arrays have one element an allocation, in
-- request order; p_owners is the place (from 1) of its consumer.
--
-- An allocation that does not fit is refused by allocation_exceed. Providers named
-- in the new allocations gain a generation, and so do those that an emptied
-- consumer had; a provider that merely loses one of several allocations does not.
-- Emptied consumers are gone; others gain a generation and take project, user
-- and, if given, type of the request.
-- The caller holds consumers and providers.
CREATE OR REPLACE FUNCTION allocation_apply(
    p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types int[],
    p_owners int[], p_providers bigint[], p_classes int[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_gone allocations[] := '{}';
    v_row allocations;
    v_owns bool[] := array_fill(false, ARRAY[cardinality(p_consumers)]);
    v_emptied bigint[] := '{}';
    v_left bigint[] := '{}';
BEGIN
    -- What the consumers had is free again before anything is taken.
    IF 0 <= ANY (p_generations) THEN
        FOR v_row IN DELETE FROM allocations WHERE consumer_id = ANY (p_consumers) RETURNING allocations.* LOOP
            UPDATE inventories SET used = used - v_row.used
            WHERE provider_id = v_row.provider_id AND class_id = v_row.class_id;
            v_gone := v_gone || v_row;
        END LOOP;
    END IF;

    FOR i IN 1 .. cardinality(p_owners) LOOP
        UPDATE inventories SET used = used + p_amounts[i]
        WHERE provider_id = p_providers[i] AND class_id = p_classes[i]
          AND p_amounts[i] <= free AND p_amounts[i] >= min_unit AND p_amounts[i] % step_size = 0;
        IF NOT FOUND THEN
            PERFORM allocation_exceed(i, p_providers, p_classes, p_amounts, v_gone);
        END IF;
        v_owns[p_owners[i]] := true;
    END LOOP;
    INSERT INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT p_consumers[item.owner], item.provider_id, item.class_id, item.amount
    FROM unnest(p_owners, p_providers, p_classes, p_amounts) WITH ORDINALITY
        AS item (owner, provider_id, class_id, amount, place)
    ORDER BY item.place;

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
        v_left := ARRAY(SELECT gone.provider_id FROM unnest(v_gone) AS gone WHERE gone.consumer_id = ANY (v_emptied));
    END IF;
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (p_providers || v_left);
END
$$;
