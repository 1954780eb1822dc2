-- The fast path of allocation_replace, for nearly all requests: a claim for one new consumer on one
-- provider, if project, user and type exist.
--
-- Returns true if the request was of this form and is done; otherwise false, and nothing is written.
-- p_type may be empty; p_classes and p_amounts have one element per allocation.
-- Raises what allocation_replace raises. Locks: the consumer by inserting it, the provider by incrementing
-- its generation, then the inventories.
--
-- The cost of a statement follows the rows that it writes, so there are three. The first one resolves all
-- names while it inserts the consumer. The last one writes an allocation for each inventory with enough
-- free capacity. It starts when the provider is locked, so it sees what the transaction that held the lock
-- before has committed.
--
-- With berth.caller (see history_step) it notes the whole claim in outbox itself, as its last statement, and the triggers of the
-- record skip its rows: they would note each of them.
CREATE OR REPLACE FUNCTION allocation_claim(
    p_consumer uuid, p_project text, p_user text, p_type text,
    p_provider uuid, p_classes text[], p_amounts bigint[]
) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_consumer bigint;
    v_provider bigint;
    v_classes int[];
    v_generation bigint;
    v_written int;
    v_noted text := coalesce(current_setting('berth.caller', true), '');
BEGIN
    IF v_noted <> '' THEN
        v_noted := set_config('berth.noted', 'on', true);
    END IF;
    INSERT /* allocation_claim 1/5 */ INTO consumers AS made (uuid, generation, project_id, user_id, consumer_type_id)
    SELECT p_consumer, 1, found.project, found.owner, found.type
    FROM (
        SELECT (SELECT project.id FROM projects AS project WHERE project.external_id = p_project) AS project,
            (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_user) AS owner,
            (SELECT type.id FROM consumer_types AS type WHERE type.name = p_type) AS type
        OFFSET 0  -- one lookup of each, although each is used twice
    ) AS found
    WHERE found.project IS NOT NULL AND found.owner IS NOT NULL AND (found.type IS NOT NULL OR p_type = '')
      AND NOT EXISTS (SELECT FROM consumers AS existing WHERE existing.uuid = p_consumer)
    ON CONFLICT (uuid) DO NOTHING
    RETURNING made.id,
        (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = p_provider),
        ARRAY(
            SELECT (SELECT class.id FROM resource_classes AS class WHERE class.name = requested.class)
            FROM unnest(p_classes) WITH ORDINALITY AS requested (class, position)
            ORDER BY requested.position)
    INTO v_consumer, v_provider, v_classes;
    IF v_consumer IS NULL THEN
        IF v_noted <> '' THEN
            v_noted := set_config('berth.noted', '', true);
        END IF;
        RETURN false;
    END IF;
    UPDATE /* allocation_claim 2/5 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = v_provider
    RETURNING generation INTO v_generation;
    WITH /* allocation_claim 3/5 */ updated AS (
        UPDATE inventories SET used = used + p_amounts[array_position(v_classes, class_id)]
        WHERE provider_id = v_provider AND class_id = ANY (v_classes)
          AND min_unit <= p_amounts[array_position(v_classes, class_id)]
          AND max_unit >= p_amounts[array_position(v_classes, class_id)]
          AND p_amounts[array_position(v_classes, class_id)] % step_size = 0
          -- Amounts can be as large as bigint; on this side of the comparison nothing overflows.
          AND p_amounts[array_position(v_classes, class_id)] <= (total - reserved) * allocation_ratio - used
        RETURNING class_id
    )
    INSERT INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT v_consumer, v_provider, updated.class_id, p_amounts[array_position(v_classes, updated.class_id)]
    FROM updated ORDER BY array_position(v_classes, updated.class_id);
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written < cardinality(p_classes) THEN
        PERFORM /* allocation_claim 4/5 */ allocation_claim_raise_error(v_consumer, p_provider, v_provider, p_classes,
            v_classes, p_amounts);
    END IF;
    IF v_noted <> '' THEN
        INSERT /* allocation_claim 5/5 */ INTO outbox (topic, consumer, after, providers, classes, amounts, generations)
        VALUES ('claim', p_consumer, jsonb_build_object('consumer_generation', 1,
            'project_id', p_project, 'user_id', p_user, 'consumer_type', nullif(p_type, '')),
            ARRAY[p_provider], p_classes, p_amounts, ARRAY[v_generation]);
        v_noted := set_config('berth.noted', '', true);
    END IF;
    RETURN true;
END
$$;
