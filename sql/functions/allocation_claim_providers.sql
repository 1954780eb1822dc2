-- The path of allocation_replace for a claim for one new consumer on several providers, for example a NUMA
-- node, a device and a storage pool, if project, user and type exist.
--
-- Returns true if the request was of this form and is done; otherwise false, and nothing is written.
-- p_type may be empty; the arrays have one element per allocation, in the order of the request.
-- Raises what allocation_replace raises. Locks: the consumer by inserting it, the providers in the order of
-- their ids, then the inventories.
--
-- The statements are those of allocation_claim, for any number of providers. A key is the number of an
-- inventory, provider_id * 2^31 + class_id; an id of a provider from 2^32 on would raise 22003. With keys the
-- last statement finds amounts in arrays instead of joining them: PostgreSQL sometimes plans a join of an
-- array and a table as a scan of the table. With enable_seqscan off each statement finds its rows through
-- an index, also if it is planned while the tables are small.
--
-- With berth.caller (see history_step) it notes the whole claim in outbox itself, as its last statement, and the triggers of the
-- record skip its rows: they would note each of them.
-- Calls: allocation_raise_unwritten.
CREATE OR REPLACE FUNCTION allocation_claim_providers(
    p_consumer uuid, p_project text, p_user text, p_type text,
    p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS bool
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_consumer bigint;
    v_providers bigint[];
    v_keys bigint[];
    v_written int;
    v_noted text := coalesce(current_setting('berth.caller', true), '');
BEGIN
    IF v_noted <> '' THEN
        v_noted := set_config('berth.noted', 'on', true);
    END IF;
    INSERT /* allocation_claim_providers 1/5 */ INTO consumers AS made
        (uuid, generation, project_id, user_id, consumer_type_id)
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
        IF v_noted <> '' THEN
            v_noted := set_config('berth.noted', '', true);
        END IF;
        RETURN false;
    END IF;
    -- The array locks all rows in the order of their ids before the first update.
    UPDATE /* allocation_claim_providers 2/5 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (ARRAY(
        SELECT locked.provider_id FROM provider_generations AS locked WHERE locked.provider_id = ANY (v_providers)
        ORDER BY locked.provider_id FOR NO KEY UPDATE));
    WITH /* allocation_claim_providers 3/5 */ updated AS (
        UPDATE inventories SET used = used + p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)]
        WHERE provider_id = ANY (v_providers)
          AND min_unit <= p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)]
          AND max_unit >= p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)]
          AND p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)] % step_size = 0
          -- Amounts can be as large as bigint; on this side of the comparison nothing overflows.
          AND p_amounts[array_position(v_keys, provider_id * 2147483648 + class_id)]
              <= (total - reserved) * allocation_ratio - used
        RETURNING provider_id, class_id
    ), written AS (
        SELECT updated.provider_id, updated.class_id,
            array_position(v_keys, updated.provider_id * 2147483648 + updated.class_id) AS position
        FROM updated
    )
    INSERT INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT v_consumer, written.provider_id, written.class_id, p_amounts[written.position]
    FROM written ORDER BY written.position;
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written < cardinality(p_classes) THEN
        PERFORM /* allocation_claim_providers 4/5 */ allocation_raise_unwritten(v_consumer, p_providers, p_classes,
            p_amounts, '{}'::bigint[], '{}'::int[], '{}'::bigint[]);
    END IF;
    IF v_noted <> '' THEN
        INSERT /* allocation_claim_providers 5/5 */ INTO outbox (topic, consumer, after, providers, classes, amounts, generations)
        SELECT 'claim', p_consumer, jsonb_build_object('consumer_generation', 1,
            'project_id', p_project, 'user_id', p_user, 'consumer_type', nullif(p_type, '')), p_providers, p_classes, p_amounts, ARRAY(
            SELECT (SELECT locked.generation FROM provider_generations AS locked WHERE locked.provider_id = v_keys[item.position] / 2147483648)
            FROM generate_subscripts(v_keys, 1) AS item (position) ORDER BY item.position);
        v_noted := set_config('berth.noted', '', true);
    END IF;
    RETURN true;
END
$$;
