-- The path of allocation_replace for new allocations of one existing consumer, on any providers, if project,
-- user and type exist.
--
-- Returns true if the request was of this form and is done; otherwise false, and nothing is written.
-- p_generation null: do not check the consumer's generation. p_type may be empty (unchanged); the arrays
-- have one element per allocation, at least one, in the order of the request.
-- Raises what allocation_replace raises. If the generation differs, it returns false, and
-- consumer_check_generation raises the error. Locks: the consumer by updating it, the providers with its new
-- and its previous allocations in the order of their ids, then the inventories.
--
-- A statement that takes a lock ends before the statement that reads the protected rows starts: the consumer's
-- lock protects its allocations, the providers' locks their inventories. Keys and enable_seqscan are as in
-- allocation_claim_providers.
-- Calls: allocation_raise_unwritten.
CREATE OR REPLACE FUNCTION allocation_change(
    p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text,
    p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS bool
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_consumer bigint;
    v_providers bigint[];
    v_keys bigint[];
    v_old_providers bigint[];
    v_old_classes int[];
    v_old_keys bigint[];
    v_old_amounts bigint[];
    v_written int;
BEGIN
    UPDATE /* allocation_change 1/5 */ consumers AS consumer SET generation = consumer.generation + 1,
        updated_at = now(), project_id = found.project, user_id = found.owner,
        consumer_type_id = coalesce(found.type, consumer.consumer_type_id)
    FROM (
        SELECT (SELECT project.id FROM projects AS project WHERE project.external_id = p_project) AS project,
            (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_user) AS owner,
            (SELECT type.id FROM consumer_types AS type WHERE type.name = p_type) AS type
        OFFSET 0  -- one lookup of each, although each is used twice
    ) AS found
    WHERE consumer.uuid = p_consumer AND (p_generation IS NULL OR consumer.generation = p_generation)
      AND found.project IS NOT NULL AND found.owner IS NOT NULL AND (found.type IS NOT NULL OR p_type = '')
    RETURNING consumer.id,
        ARRAY(
            SELECT (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = requested.provider)
            FROM unnest(p_providers) AS requested (provider)),
        ARRAY(
            SELECT (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = requested.provider)
                * 2147483648
                + (SELECT class.id FROM resource_classes AS class WHERE class.name = requested.class)
            FROM unnest(p_providers, p_classes) WITH ORDINALITY AS requested (provider, class, position)
            ORDER BY requested.position)
    INTO v_consumer, v_providers, v_keys;
    IF v_consumer IS NULL THEN
        RETURN false;
    END IF;
    SELECT /* allocation_change 2/5 */ array_agg(old.provider_id), array_agg(old.class_id),
        array_agg(old.provider_id * 2147483648 + old.class_id), array_agg(old.used)
    INTO v_old_providers, v_old_classes, v_old_keys, v_old_amounts
    FROM allocations AS old WHERE old.consumer_id = v_consumer;
    -- The array locks all rows in the order of their ids before the first update. A provider without new
    -- allocations keeps its generation.
    UPDATE /* allocation_change 3/5 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (ARRAY(
        SELECT CASE WHEN locked.provider_id = ANY (v_providers) THEN locked.provider_id END
        FROM provider_generations AS locked WHERE locked.provider_id = ANY (v_providers || v_old_providers)
        ORDER BY locked.provider_id FOR NO KEY UPDATE));
    WITH /* allocation_change 4/5 */ deleted AS (
        DELETE FROM allocations WHERE consumer_id = v_consumer RETURNING class_id
    ), updated AS (
        UPDATE inventories
        SET used = used + coalesce(p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)], 0)
            - coalesce(v_old_amounts[array_position(v_old_keys, provider_id * 2147483648 + class_id)], 0)
        WHERE provider_id = ANY (v_providers || v_old_providers)
          AND CASE WHEN provider_id * 2147483648 + class_id = ANY (v_keys) THEN
              min_unit <= p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)]
              AND max_unit >= p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)]
              AND p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)] % step_size = 0
              -- Amounts can be as large as bigint; on this side of the comparison nothing overflows.
              AND p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)]
                  - coalesce(v_old_amounts[array_position(v_old_keys, provider_id * 2147483648 + class_id)], 0)
                  <= greatest((total - reserved) * allocation_ratio - used, 0)
              ELSE provider_id * 2147483648 + class_id = ANY (v_old_keys) END
        RETURNING provider_id, class_id
    ), written AS (
        SELECT updated.provider_id, updated.class_id,
            array_position(v_keys, updated.provider_id * 2147483648 + updated.class_id) AS position
        FROM updated
    )
    INSERT INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT v_consumer, written.provider_id, written.class_id, p_amounts[written.position]
    FROM written
    -- The count deletes the previous allocations before the first insert, which can have the same key.
    WHERE written.position IS NOT NULL AND (SELECT count(*) FROM deleted) >= 0
    ORDER BY written.position;
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written < cardinality(p_classes) THEN
        PERFORM /* allocation_change 5/5 */ allocation_raise_unwritten(v_consumer, p_providers, p_classes,
            p_amounts, v_old_providers, v_old_classes, v_old_amounts);
    END IF;
    RETURN true;
END
$$;
