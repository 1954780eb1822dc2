-- The schema of a migrated database. Generated: do not edit.

--
-- Name: natural_int; Type: DOMAIN; Schema: public; Owner: -
--

CREATE DOMAIN public.natural_int AS integer
	CONSTRAINT natural_int_check CHECK ((VALUE >= 0));

--
-- Name: DOMAIN natural_int; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON DOMAIN public.natural_int IS 'An amount of at least 0. A domain for the same reason as positive_int.';

--
-- Name: positive_int; Type: DOMAIN; Schema: public; Owner: -
--

CREATE DOMAIN public.positive_int AS integer
	CONSTRAINT positive_int_check CHECK ((VALUE >= 1));

--
-- Name: DOMAIN positive_int; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON DOMAIN public.positive_int IS 'An amount of at least 1. A domain, because PostgreSQL compiles a CHECK of the table for every update, also of other columns: four of them took 10 of the 27 µs that an update of used takes.';

--
-- Name: allocation_apply(bigint[], bigint[], bigint[], bigint[], integer[], integer[], bigint[], integer[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_apply(p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

--
-- Name: FUNCTION allocation_apply(p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_apply(p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[]) IS 'Replaces all allocations of the given consumers if the new ones fit, and updates inventories.used and the
generations.

p_consumers, p_generations (-1: new), p_projects, p_users, p_types: what consumer_lock returned. The
other arrays have one element per allocation, in the order of the request; p_owners is the position (from
1) of its consumer.

If an allocation does not fit, allocation_raise_error raises; its header defines when an allocation fits.
It increments the generation of each provider that the new allocations name, and of each provider on
which a consumer without new allocations had some. A provider that loses one of several allocations of a
consumer keeps its generation. It deletes consumers without new allocations. It increments the generation
of the others and sets their project, user and, if given, type.
Locks: nothing more. The caller has locked the consumers and providers.';

--
-- Name: allocation_change(uuid, bigint, text, text, text, uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_change(p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
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

--
-- Name: FUNCTION allocation_change(p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_change(p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[]) IS 'The path of allocation_replace for new allocations of one existing consumer, on any providers, if project,
user and type exist.

Returns true if the request was of this form and is done; otherwise false, and nothing is written.
p_generation null: do not check the consumer''s generation. p_type may be empty (unchanged); the arrays
have one element per allocation, at least one, in the order of the request.
Raises what allocation_replace raises. If the generation differs, it returns false, and
consumer_check_generation raises the error. Locks: the consumer by updating it, the providers with its new
and its previous allocations in the order of their ids, then the inventories.

A statement that takes a lock ends before the statement that reads the protected rows starts: the consumer''s
lock protects its allocations, the providers'' locks their inventories. Keys and enable_seqscan are as in
allocation_claim_providers.
Calls: allocation_raise_unwritten.';

--
-- Name: allocation_claim(uuid, text, text, text, uuid, text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_claim(p_consumer uuid, p_project text, p_user text, p_type text, p_provider uuid, p_classes text[], p_amounts bigint[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
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

--
-- Name: FUNCTION allocation_claim(p_consumer uuid, p_project text, p_user text, p_type text, p_provider uuid, p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_claim(p_consumer uuid, p_project text, p_user text, p_type text, p_provider uuid, p_classes text[], p_amounts bigint[]) IS 'The fast path of allocation_replace, for nearly all requests: a claim for one new consumer on one
provider, if project, user and type exist.

Returns true if the request was of this form and is done; otherwise false, and nothing is written.
p_type may be empty; p_classes and p_amounts have one element per allocation.
Raises what allocation_replace raises. Locks: the consumer by inserting it, the provider by incrementing
its generation, then the inventories.

The cost of a statement follows the rows that it writes, so there are three. The first one resolves all
names while it inserts the consumer. The last one writes an allocation for each inventory with enough
free capacity. It starts when the provider is locked, so it sees what the transaction that held the lock
before has committed.

With berth.caller (see history_step) it notes the whole claim in outbox itself, as its last statement, and the triggers of the
record skip its rows: they would note each of them.';

--
-- Name: allocation_claim_providers(uuid, text, text, text, uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_claim_providers(p_consumer uuid, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS boolean
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
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

--
-- Name: FUNCTION allocation_claim_providers(p_consumer uuid, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_claim_providers(p_consumer uuid, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[]) IS 'The path of allocation_replace for a claim for one new consumer on several providers, for example a NUMA
node, a device and a storage pool, if project, user and type exist.

Returns true if the request was of this form and is done; otherwise false, and nothing is written.
p_type may be empty; the arrays have one element per allocation, in the order of the request.
Raises what allocation_replace raises. Locks: the consumer by inserting it, the providers in the order of
their ids, then the inventories.

The statements are those of allocation_claim, for any number of providers. A key is the number of an
inventory, provider_id * 2^31 + class_id; an id of a provider from 2^32 on would raise 22003. With keys the
last statement finds amounts in arrays instead of joining them: PostgreSQL sometimes plans a join of an
array and a table as a scan of the table. With enable_seqscan off each statement finds its rows through
an index, also if it is planned while the tables are small.

With berth.caller (see history_step) it notes the whole claim in outbox itself, as its last statement, and the triggers of the
record skip its rows: they would note each of them.
Calls: allocation_raise_unwritten.';

--
-- Name: allocation_claim_raise_error(bigint, uuid, bigint, text[], integer[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_claim_raise_error(p_consumer_id bigint, p_provider uuid, p_provider_id bigint, p_classes text[], p_class_ids integer[], p_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_providers bigint[] := array_fill(p_provider_id, ARRAY[cardinality(p_classes)]);
    v_over_capacity int[];
BEGIN
    IF p_provider_id IS NULL OR array_position(p_class_ids, NULL) IS NOT NULL THEN
        PERFORM /* allocation_claim_raise_error 1/3 */ allocation_resolve(array_fill(p_provider,
            ARRAY[cardinality(p_classes)]), p_classes);
        RAISE EXCEPTION 'names in a claim on provider % were created concurrently', p_provider USING ERRCODE = '40001';
    END IF;
    v_over_capacity := ARRAY(
        SELECT /* allocation_claim_raise_error 2/3 */ requested.class_id
        FROM unnest(p_class_ids) AS requested (class_id)
        EXCEPT SELECT written.class_id FROM allocations AS written WHERE written.consumer_id = p_consumer_id);
    PERFORM /* allocation_claim_raise_error 3/3 */ allocation_raise_error(v_providers, v_over_capacity, v_providers,
        p_class_ids, p_amounts,
        '{}'::bigint[], '{}'::int[], '{}'::bigint[]);
END
$$;

--
-- Name: FUNCTION allocation_claim_raise_error(p_consumer_id bigint, p_provider uuid, p_provider_id bigint, p_classes text[], p_class_ids integer[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_claim_raise_error(p_consumer_id bigint, p_provider uuid, p_provider_id bigint, p_classes text[], p_class_ids integer[], p_amounts bigint[]) IS 'Raises the error for the first allocation that allocation_claim did not write.

p_provider_id and p_class_ids are the ids of the names, null for names that do not exist. Allocations
that were written for the consumer fit.
Raises PL009, PL004 (see allocation_resolve), PL010, PL011, PL012 (see allocation_raise_error), and 40001
if a name was created since the claim resolved it.';

--
-- Name: allocation_delete(uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_delete(p_consumer uuid) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN allocation_delete_checked(p_consumer, NULL);
END
$$;

--
-- Name: FUNCTION allocation_delete(p_consumer uuid); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_delete(p_consumer uuid) IS 'Deletes the consumer with all its allocations, for any generation. See allocation_delete_checked.

Servers of earlier versions call it; a later migration drops it.
Locks: as allocation_delete_checked. Returns whether the consumer existed.
Calls: allocation_delete_checked.';

--
-- Name: allocation_delete_checked(uuid, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_delete_checked(p_consumer uuid, p_generation bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id bigint;
    v_generation bigint;
    v_row allocations;
BEGIN
    SELECT /* allocation_delete_checked 1/6 */ consumer.id, consumer.generation INTO v_id, v_generation
    FROM consumers AS consumer WHERE consumer.uuid = p_consumer FOR UPDATE;
    IF v_id IS NULL THEN
        RETURN false;
    END IF;
    IF p_generation IS NOT NULL THEN
        PERFORM /* allocation_delete_checked 2/6 */ consumer_check_generation(ARRAY[p_consumer], ARRAY[v_generation],
            ARRAY[p_generation], '{false}');
    END IF;
    PERFORM /* allocation_delete_checked 3/6 */ allocation_lock_providers(ARRAY[v_id], '{}');
    FOR v_row IN DELETE /* allocation_delete_checked 4/6 */ FROM allocations WHERE consumer_id = v_id
        RETURNING allocations.* LOOP
        UPDATE /* allocation_delete_checked 5/6 */ inventories SET used = used - v_row.used
        WHERE provider_id = v_row.provider_id AND class_id = v_row.class_id;
    END LOOP;
    DELETE /* allocation_delete_checked 6/6 */ FROM consumers WHERE id = v_id;
    RETURN true;
END
$$;

--
-- Name: FUNCTION allocation_delete_checked(p_consumer uuid, p_generation bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_delete_checked(p_consumer uuid, p_generation bigint) IS 'DELETE /allocations/{consumer_uuid}: deletes the consumer with all its allocations.

p_generation null: do not compare the consumer''s generation. Returns whether the consumer existed.
Generations of the providers do not change. Raises PL003 (generation). Locks: the consumer FOR UPDATE, its
providers in the order of their ids.
Calls: consumer_check_generation, allocation_lock_providers.';

--
-- Name: allocation_differences(bigint[], integer[], bigint[], integer[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_differences(p_consumers bigint[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], OUT consumers bigint[], OUT providers bigint[], OUT classes integer[], OUT amounts bigint[], OUT previous bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH /* allocation_differences 1/1 */ wanted AS MATERIALIZED (
        SELECT item.position, p_consumers[item.owner] AS consumer_id, item.provider_id, item.class_id, item.amount
        FROM unnest(p_owners, p_providers, p_classes, p_amounts) WITH ORDINALITY
            AS item (owner, provider_id, class_id, amount, position)
    ), had AS MATERIALIZED (
        SELECT allocation.id, allocation.consumer_id, allocation.provider_id, allocation.class_id, allocation.used
        FROM unnest(p_consumers) AS consumer (id)
        CROSS JOIN LATERAL (
            SELECT one.id, one.consumer_id, one.provider_id, one.class_id, one.used
            FROM allocations AS one WHERE one.consumer_id = consumer.id OFFSET 0
        ) AS allocation
    )
    SELECT coalesce(array_agg(change.consumer_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.provider_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.class_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.amount ORDER BY change.position), '{}'),
        coalesce(array_agg(change.previous ORDER BY change.position), '{}')
    INTO consumers, providers, classes, amounts, previous
    FROM (
        SELECT coalesce(wanted.position, 2147483648 + had.id) AS position, consumer_id, provider_id, class_id,
            coalesce(wanted.amount, 0) AS amount, coalesce(had.used, 0) AS previous
        FROM wanted FULL JOIN had USING (consumer_id, provider_id, class_id)
        WHERE wanted.amount IS DISTINCT FROM had.used
    ) AS change;
END
$$;

--
-- Name: FUNCTION allocation_differences(p_consumers bigint[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], OUT consumers bigint[], OUT providers bigint[], OUT classes integer[], OUT amounts bigint[], OUT previous bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_differences(p_consumers bigint[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], OUT consumers bigint[], OUT providers bigint[], OUT classes integer[], OUT amounts bigint[], OUT previous bigint[]) IS 'Returns the allocations that change when consumers get new sets of allocations: those with another amount first, in the
order of the request, then the dropped ones with the amount 0. previous is the amount before, 0 for a new allocation.

p_consumers: ids; p_owners: the position (from 1) of the consumer of each allocation; the other arrays are what
allocation_resolve returned. Locks nothing; the caller has locked the consumers, whose allocations cannot change.
Plan: keys, and the range of each consumer in allocations_pkey.';

--
-- Name: allocation_lock_providers(bigint[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_lock_providers(p_consumers bigint[], p_providers bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM /* allocation_lock_providers 1/1 */ FROM provider_generations AS generation_row
    WHERE generation_row.provider_id = ANY (
        p_providers || ARRAY(SELECT allocation.provider_id FROM allocations AS allocation
            WHERE allocation.consumer_id = ANY (p_consumers)))
    ORDER BY generation_row.provider_id
    FOR NO KEY UPDATE;
END
$$;

--
-- Name: FUNCTION allocation_lock_providers(p_consumers bigint[], p_providers bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_lock_providers(p_consumers bigint[], p_providers bigint[]) IS 'Locks every provider that a write of allocations changes: the providers that the request names and those
on which the consumers have allocations. These row locks make reading and updating inventories.used
atomic.

Locks: provider_generations FOR NO KEY UPDATE in the order of their ids. The caller has locked the
consumers, so their allocations cannot change. If a provider is deleted before it is locked, later
functions find no inventory of it.';

--
-- Name: allocation_patch(uuid, bigint, text, text, text, uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_patch(p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS TABLE(shown_position bigint, shown_provider uuid, shown_provider_generation bigint, shown_class text, shown_used bigint, shown_project text, shown_user text, shown_generation bigint, shown_type text)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY SELECT /* allocation_patch 1/1 */ patched.shown_position, patched.shown_provider, patched.shown_provider_generation,
        patched.shown_class, patched.shown_used, patched.shown_project, patched.shown_user, patched.shown_generation, patched.shown_type
    FROM allocation_patch_leased(p_consumer, p_generation, p_project, p_user, p_type, p_providers, p_classes, p_amounts, NULL) AS patched;
END
$$;

--
-- Name: FUNCTION allocation_patch(p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_patch(p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[]) IS 'PATCH /allocations/{consumer_uuid} without a lease. See allocation_patch_leased.

Servers of earlier versions call it; a later migration drops it.
Locks: as allocation_patch_leased, without the lease.
Calls: allocation_patch_leased.';

--
-- Name: allocation_patch_apply(bigint, bigint[], integer[], bigint[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_patch_apply(p_consumer_id bigint, p_providers bigint[], p_classes integer[], p_amounts bigint[], p_previous bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

--
-- Name: FUNCTION allocation_patch_apply(p_consumer_id bigint, p_providers bigint[], p_classes integer[], p_amounts bigint[], p_previous bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_patch_apply(p_consumer_id bigint, p_providers bigint[], p_classes integer[], p_amounts bigint[], p_previous bigint[]) IS 'Writes the changes of allocation_patch_changes if they fit: inventories.used, the allocations, and the generations of
the providers.

Raises PL010, PL011 and PL012 for the first change that does not fit, and 40001 if a provider was deleted since its
name was resolved (see allocation_raise_error). A removed or reduced amount always fits the capacity.
Locks: the providers in the order of their ids. The caller has locked the consumer.
Calls: allocation_lock_providers; allocation_raise_error, if a change does not fit.';

--
-- Name: allocation_patch_changes(bigint, uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_patch_changes(p_consumer_id bigint, p_providers uuid[], p_classes text[], p_amounts bigint[], OUT providers bigint[], OUT classes integer[], OUT amounts bigint[], OUT previous bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_uuids uuid[];
    v_names text[];
    v_wanted bigint[];
    v_named record;
BEGIN
    SELECT /* allocation_patch_changes 1/2 */ coalesce(array_agg(item.provider ORDER BY item.position), '{}'),
        coalesce(array_agg(item.class ORDER BY item.position), '{}'),
        coalesce(array_agg(item.amount ORDER BY item.position), '{}')
    INTO v_uuids, v_names, v_wanted
    FROM unnest(p_providers, p_classes, p_amounts) WITH ORDINALITY AS item (provider, class, amount, position)
    WHERE item.amount > 0;
    v_named := allocation_resolve(v_uuids, v_names);
    SELECT /* allocation_patch_changes 2/2 */ coalesce(array_agg(change.provider_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.class_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.amount ORDER BY change.position), '{}'),
        coalesce(array_agg(change.previous ORDER BY change.position), '{}')
    INTO providers, classes, amounts, previous
    FROM (
        SELECT wanted.position, wanted.provider_id, wanted.class_id, wanted.amount, coalesce(had.used, 0) AS previous
        FROM unnest(v_named.providers, v_named.classes, v_wanted) WITH ORDINALITY
            AS wanted (provider_id, class_id, amount, position)
        LEFT JOIN allocations AS had ON had.consumer_id = p_consumer_id AND had.provider_id = wanted.provider_id
            AND had.class_id = wanted.class_id
        WHERE had.used IS DISTINCT FROM wanted.amount
        UNION ALL
        SELECT 2147483648 + had.id, had.provider_id, had.class_id, 0, had.used
        FROM allocations AS had
        WHERE had.consumer_id = p_consumer_id AND EXISTS (
            SELECT FROM unnest(p_providers, p_classes, p_amounts) AS removed (provider, class, amount)
            WHERE removed.amount = 0
              AND removed.provider = (SELECT provider.uuid FROM resource_providers AS provider
                WHERE provider.id = had.provider_id)
              AND removed.class IN ('', (SELECT class.name FROM resource_classes AS class WHERE class.id = had.class_id)))
    ) AS change;
END
$$;

--
-- Name: FUNCTION allocation_patch_changes(p_consumer_id bigint, p_providers uuid[], p_classes text[], p_amounts bigint[], OUT providers bigint[], OUT classes integer[], OUT amounts bigint[], OUT previous bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_patch_changes(p_consumer_id bigint, p_providers uuid[], p_classes text[], p_amounts bigint[], OUT providers bigint[], OUT classes integer[], OUT amounts bigint[], OUT previous bigint[]) IS 'Returns the allocations of a consumer that a merge patch changes: those with another amount first, in the order of
the request, then the removed ones with the amount 0. previous is the amount before, 0 for a new allocation.

Arguments as in allocation_patch. An amount that does not change is left out.
Raises PL009 and PL004 (see allocation_resolve) for allocations that are set. Names that do not exist are ignored
for those that are removed. Locks nothing; the caller has locked the consumer, whose allocations cannot change.
Calls: allocation_resolve.';

--
-- Name: allocation_patch_leased(uuid, bigint, text, text, text, uuid[], text[], bigint[], jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_patch_leased(p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[], p_lease jsonb) RETURNS TABLE(shown_position bigint, shown_provider uuid, shown_provider_generation bigint, shown_class text, shown_used bigint, shown_project text, shown_user text, shown_generation bigint, shown_type text, shown_lease jsonb)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_was record;
    v_owner record;
    v_changes record;
BEGIN
    PERFORM /* allocation_patch_leased 1/9 */ consumer_ensure_references(array_remove(ARRAY[p_project], NULL),
        array_remove(ARRAY[p_user], NULL), array_remove(ARRAY[p_type], NULL));
    SELECT /* allocation_patch_leased 2/9 */ consumer.id, consumer.generation, consumer.project_id, consumer.user_id,
        consumer.consumer_type_id, consumer.leased
    INTO v_was FROM consumers AS consumer
    WHERE consumer.uuid = p_consumer FOR NO KEY UPDATE;
    IF v_was.id IS NULL THEN
        RAISE EXCEPTION 'no consumer %', p_consumer USING ERRCODE = 'PL075',
            DETAIL = json_build_object('consumer', p_consumer);
    END IF;
    IF p_generation IS NOT NULL THEN
        PERFORM /* allocation_patch_leased 3/9 */ consumer_check_generation(ARRAY[p_consumer], ARRAY[v_was.generation],
            ARRAY[p_generation], '{false}');
    END IF;
    SELECT /* allocation_patch_leased 4/9 */
        coalesce((SELECT project.id FROM projects AS project WHERE project.external_id = p_project), v_was.project_id)
            AS project_id,
        coalesce((SELECT owner.id FROM users AS owner WHERE owner.external_id = p_user), v_was.user_id) AS user_id,
        coalesce((SELECT type.id FROM consumer_types AS type WHERE type.name = p_type), v_was.consumer_type_id)
            AS type_id
    INTO v_owner;
    v_changes := allocation_patch_changes(v_was.id, p_providers, p_classes, p_amounts);
    IF cardinality(v_changes.providers) > 0 THEN
        PERFORM /* allocation_patch_leased 5/9 */ allocation_patch_apply(v_was.id, v_changes.providers, v_changes.classes,
            v_changes.amounts, v_changes.previous);
    END IF;
    IF cardinality(v_changes.providers) > 0 OR (v_owner.project_id, v_owner.user_id, v_owner.type_id)
        IS DISTINCT FROM (v_was.project_id, v_was.user_id, v_was.consumer_type_id)
        OR p_lease <> '{}' OR v_was.leased AND p_lease = '{}'
    THEN
        UPDATE /* allocation_patch_leased 6/9 */ consumers SET generation = generation + 1, updated_at = now(),
            project_id = v_owner.project_id, user_id = v_owner.user_id, consumer_type_id = v_owner.type_id
        WHERE id = v_was.id;
        DELETE /* allocation_patch_leased 7/9 */ FROM consumers AS consumer
        WHERE consumer.id = v_was.id
          AND NOT EXISTS (SELECT FROM allocations AS allocation WHERE allocation.consumer_id = v_was.id);
        IF p_lease IS NOT NULL THEN
            PERFORM /* allocation_patch_leased 8/9 */ lease_write(ARRAY[p_consumer], jsonb_build_array(p_lease));
        END IF;
    END IF;
    RETURN QUERY SELECT /* allocation_patch_leased 9/9 */ allocation.id, provider.uuid, generation_row.generation, class.name,
        allocation.used, project.external_id, owner.external_id, consumer.generation, coalesce(type.name, ''),
        CASE WHEN consumer.leased THEN (SELECT lease_show(lease) FROM leases AS lease WHERE lease.consumer_id = consumer.id) END
    FROM consumers AS consumer
    JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
    JOIN resource_providers AS provider ON provider.id = allocation.provider_id
    JOIN provider_generations AS generation_row ON generation_row.provider_id = allocation.provider_id
    JOIN resource_classes AS class ON class.id = allocation.class_id
    JOIN projects AS project ON project.id = consumer.project_id
    JOIN users AS owner ON owner.id = consumer.user_id
    LEFT JOIN consumer_types AS type ON type.id = consumer.consumer_type_id
    WHERE consumer.id = v_was.id;
END
$$;

--
-- Name: FUNCTION allocation_patch_leased(p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[], p_lease jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_patch_leased(p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text, p_providers uuid[], p_classes text[], p_amounts bigint[], p_lease jsonb) IS 'PATCH /allocations/{consumer_uuid}: changes some allocations of a consumer, its project, user, type or lease.

p_generation null: do not compare the consumer''s generation. p_project, p_user and p_type null: unchanged. The arrays
have one element per allocation, in the order of the request; the amount 0 removes it, and with the class '''' all
allocations on the provider. No two elements set the same allocation. p_lease: seconds, until or both; {} takes the lease away,
and null leaves it as it is.
Increments the generations of the consumer and of the providers whose allocations change, once each; without a change
it writes nothing. Removing the last allocation deletes the consumer.
Returns all allocations afterwards, in the order of position; no row: the consumer is deleted.
Raises, in this order: PL075 (no such consumer), PL003 (generation), PL009, PL004 (see allocation_resolve), PL010,
PL011, PL012 (see allocation_raise_error), 40001 if a provider was deleted concurrently, PL080 and PL081 (see lease_check).
Locks: a new project, user and type; the consumer; the providers with changes, in the order of their ids; the lease. Idempotent
without a generation.
Calls: consumer_ensure_references, consumer_check_generation, allocation_patch_changes, allocation_patch_apply,
lease_write.';

--
-- Name: allocation_raise_error(bigint[], integer[], bigint[], integer[], bigint[], bigint[], integer[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_raise_error(p_over_capacity_providers bigint[], p_over_capacity_classes integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_deleted_providers bigint[], p_deleted_classes integer[], p_deleted_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_wrong record;
BEGIN
    WITH /* allocation_raise_error 1/1 */ requested AS (
        SELECT item.position, item.provider_id, item.class_id, item.amount,
            sum(item.amount) OVER (PARTITION BY item.provider_id, item.class_id ORDER BY item.position) AS so_far
        FROM unnest(p_providers, p_classes, p_amounts) WITH ORDINALITY AS item (provider_id, class_id, amount, position)
    ), released AS (
        SELECT deleted.provider_id, deleted.class_id, -sum(deleted.amount) AS used
        FROM unnest(p_deleted_providers, p_deleted_classes, p_deleted_amounts)
            AS deleted (provider_id, class_id, amount)
        GROUP BY deleted.provider_id, deleted.class_id
    ), checked AS (
        SELECT requested.position, requested.provider_id, requested.class_id,
            CASE
                WHEN inventory.provider_id IS NULL THEN 'PL010'
                WHEN requested.amount < inventory.min_unit OR requested.amount > inventory.max_unit
                    OR requested.amount % inventory.step_size <> 0 THEN 'PL011'
                WHEN requested.so_far > coalesce(released.used, 0)
                    AND inventory.used - coalesce(released.used, 0) + requested.so_far
                        > (inventory.total - inventory.reserved) * inventory.allocation_ratio THEN 'PL012'
            END AS rule
        FROM unnest(p_over_capacity_providers, p_over_capacity_classes) AS over_capacity (provider_id, class_id)
        JOIN requested USING (provider_id, class_id)
        LEFT JOIN inventories AS inventory USING (provider_id, class_id)
        LEFT JOIN released USING (provider_id, class_id)
    )
    SELECT checked.rule, provider.uuid AS provider, class.name AS class INTO v_wrong
    FROM checked
    LEFT JOIN resource_providers AS provider ON provider.id = checked.provider_id
    LEFT JOIN resource_classes AS class ON class.id = checked.class_id
    WHERE checked.rule IS NOT NULL
    ORDER BY checked.position
    LIMIT 1;
    RAISE EXCEPTION 'allocation of % on provider % does not fit', v_wrong.class, v_wrong.provider
        USING ERRCODE = CASE WHEN v_wrong.provider IS NULL OR v_wrong.class IS NULL THEN '40001' ELSE v_wrong.rule END,
        DETAIL = json_build_object('provider', v_wrong.provider, 'class', v_wrong.class);
END
$$;

--
-- Name: FUNCTION allocation_raise_error(p_over_capacity_providers bigint[], p_over_capacity_classes integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_deleted_providers bigint[], p_deleted_classes integer[], p_deleted_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_raise_error(p_over_capacity_providers bigint[], p_over_capacity_classes integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_deleted_providers bigint[], p_deleted_classes integer[], p_deleted_amounts bigint[]) IS 'Raises the error for the first allocation, in the order of the request, that does not fit.

p_over_capacity_providers and p_over_capacity_classes are the inventories whose update failed; their used
is the value before the request. p_deleted_… are the previous allocations of the request''s consumers,
with negative amounts. The other arrays are those of the request.

An allocation fits if the provider has an inventory of the class (otherwise PL010), the amount conforms
to min_unit, max_unit and step_size (otherwise PL011), and the sum of all amounts up to it is within the
capacity (otherwise PL012). Previous allocations of the consumers count as free. On a provider that is
over capacity already, the consumers may keep as much as they have, or less.
Raises 40001 if a provider or class was deleted since its name was resolved: the store retries the
request, and resolving the name again finds which one is missing.';

--
-- Name: allocation_raise_unwritten(bigint, uuid[], text[], bigint[], bigint[], integer[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_raise_unwritten(p_consumer_id bigint, p_providers uuid[], p_classes text[], p_amounts bigint[], p_old_providers bigint[], p_old_classes integer[], p_old_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_named record;
    v_unwritten_providers bigint[];
    v_unwritten_classes int[];
BEGIN
    v_named := allocation_resolve(p_providers, p_classes);
    SELECT /* allocation_raise_unwritten 1/2 */ array_agg(unwritten.provider_id), array_agg(unwritten.class_id)
    INTO v_unwritten_providers, v_unwritten_classes
    FROM (
        SELECT requested.provider_id, requested.class_id
        FROM unnest(v_named.providers, v_named.classes) AS requested (provider_id, class_id)
        EXCEPT SELECT written.provider_id, written.class_id
        FROM allocations AS written WHERE written.consumer_id = p_consumer_id
    ) AS unwritten;
    PERFORM /* allocation_raise_unwritten 2/2 */ allocation_raise_error(v_unwritten_providers, v_unwritten_classes,
        v_named.providers, v_named.classes, p_amounts,
        p_old_providers, p_old_classes,
        ARRAY(SELECT -old.used FROM unnest(p_old_amounts) WITH ORDINALITY AS old (used, position)
            ORDER BY old.position));
END
$$;

--
-- Name: FUNCTION allocation_raise_unwritten(p_consumer_id bigint, p_providers uuid[], p_classes text[], p_amounts bigint[], p_old_providers bigint[], p_old_classes integer[], p_old_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_raise_unwritten(p_consumer_id bigint, p_providers uuid[], p_classes text[], p_amounts bigint[], p_old_providers bigint[], p_old_classes integer[], p_old_amounts bigint[]) IS 'Raises the error for the first allocation that allocation_claim_providers or allocation_change did not
write.

The consumer''s allocations in the table are those that fit. p_old_… are its previous allocations; the other
arrays are those of the request.
Raises PL009, PL004 (see allocation_resolve), PL010, PL011, PL012 (see allocation_raise_error), and 40001
if a name was created since the write resolved it.
Calls: allocation_resolve, allocation_raise_error.';

--
-- Name: allocation_replace(uuid[], text[], text[], text[], boolean, bigint[], boolean[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_replace(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_check_generations boolean, p_generations bigint[], p_unseen boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
    v_named record;
BEGIN
    IF cardinality(p_consumers) = 1 AND cardinality(p_providers) BETWEEN 1 AND 100 THEN
        IF p_unseen[1] THEN
            IF p_providers[1] = ALL (p_providers) THEN
                IF allocation_claim(p_consumers[1], p_projects[1], p_users[1], p_types[1], p_providers[1], p_classes,
                    p_amounts) THEN
                    RETURN;
                END IF;
            ELSIF allocation_claim_providers(p_consumers[1], p_projects[1], p_users[1], p_types[1], p_providers,
                p_classes, p_amounts) THEN
                RETURN;
            END IF;
        END IF;
        -- Without generations (up to 1.27), p_unseen does not exclude that the consumer exists.
        IF NOT (p_unseen[1] AND p_check_generations)
            AND allocation_change(p_consumers[1], CASE WHEN p_check_generations THEN p_generations[1] END,
                p_projects[1], p_users[1], p_types[1], p_providers, p_classes, p_amounts)
        THEN
            RETURN;
        END IF;
    END IF;
    v_locked := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    IF p_check_generations THEN
        PERFORM /* allocation_replace 1/3 */ consumer_check_generation(p_consumers, v_locked.generations,
            p_generations, p_unseen);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    PERFORM /* allocation_replace 2/3 */ allocation_lock_providers(v_locked.ids, v_named.providers);
    PERFORM /* allocation_replace 3/3 */ allocation_apply(v_locked.ids, v_locked.generations, v_locked.projects,
        v_locked.users, v_locked.types,
        p_owners, v_named.providers, v_named.classes, p_amounts);
END
$$;

--
-- Name: FUNCTION allocation_replace(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_check_generations boolean, p_generations bigint[], p_unseen boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_replace(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_check_generations boolean, p_generations bigint[], p_unseen boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) IS 'PUT /allocations/{consumer_uuid} and POST /allocations: sets the allocations of one or more consumers, all or
none.

Consumers: p_consumers, p_projects, p_users, p_types (empty: unchanged). The function compares
p_generations and p_unseen (see consumer_check_generation) only if p_check_generations (1.28).
Allocations: p_owners is the position (from 1) of the consumer in p_consumers; p_providers, p_classes,
p_amounts. A consumer without an allocation in the request loses those that it has.
Raises, in this order: PL003 (consumer generation), PL009 (unknown provider), PL004 (unknown class),
PL010, PL011, PL012 (see allocation_raise_error).
Locks: projects, users, types, consumers, providers, each in the order of their keys.

Requests for one consumer have functions with few statements: allocation_claim for a new consumer on one
provider, which are nearly all requests; allocation_claim_providers for one on several providers;
allocation_change for an existing consumer. They compare each inventory with all allocations of the
request, so they take as long as the general functions with 300 allocations, and 1.8 times as long with
1,000. The general functions handle requests with more than 100 allocations, for several consumers, for a
consumer without new allocations, and those for which one of the former returned false, for example
because the project is new.
Calls: allocation_claim or allocation_claim_providers; allocation_change; if they return false,
consumer_lock, consumer_check_generation, allocation_resolve, allocation_lock_providers, allocation_apply.';

--
-- Name: allocation_resolve(uuid[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_resolve(p_providers uuid[], p_classes text[], OUT providers bigint[], OUT classes integer[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_position int;
BEGIN
    SELECT /* allocation_resolve 1/1 */ coalesce(array_agg(found.provider), '{}'),
        coalesce(array_agg(found.class), '{}') INTO providers, classes
    FROM (
        SELECT (SELECT provider.id FROM resource_providers AS provider
            WHERE provider.uuid = requested.provider) AS provider,
            (SELECT class.id FROM resource_classes AS class WHERE class.name = requested.class) AS class
        FROM unnest(p_providers, p_classes) WITH ORDINALITY AS requested (provider, class, position)
        ORDER BY requested.position
    ) AS found;
    v_position := array_position(providers, NULL);
    IF v_position IS NOT NULL THEN
        RAISE EXCEPTION 'allocation for provider % that does not exist', p_providers[v_position]
            USING ERRCODE = 'PL009', DETAIL = json_build_object('provider', p_providers[v_position]);
    END IF;
    v_position := array_position(classes, NULL);
    IF v_position IS NOT NULL THEN
        RAISE EXCEPTION 'no resource class %', p_classes[v_position]
            USING ERRCODE = 'PL004', DETAIL = json_build_object('class', p_classes[v_position]);
    END IF;
END
$$;

--
-- Name: FUNCTION allocation_resolve(p_providers uuid[], p_classes text[], OUT providers bigint[], OUT classes integer[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_resolve(p_providers uuid[], p_classes text[], OUT providers bigint[], OUT classes integer[]) IS 'Returns the ids of the providers and classes that allocations name, in the order of the names.

Raises PL009 for the first provider that does not exist, otherwise PL004 for the first such class. Locks
nothing: allocation_apply detects that a provider was deleted meanwhile, and a class in use cannot be
deleted.';

--
-- Name: allocation_write_changes(bigint[], bigint[], integer[], bigint[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_write_changes(p_consumers bigint[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_previous bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

--
-- Name: FUNCTION allocation_write_changes(p_consumers bigint[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_previous bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.allocation_write_changes(p_consumers bigint[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_previous bigint[]) IS 'Writes changes of allocations of any consumers if they fit: inventories.used and the allocations.

The arrays are those that allocation_differences returns: the amount 0 deletes an allocation. It does not write generations and
consumers. Raises PL010, PL011 and PL012 for the first change that does not fit, and 40001 if a provider was deleted
since its name was resolved (see allocation_raise_error). A removed or reduced amount always fits the capacity.
Locks: nothing more. The caller has locked the consumers and providers.
Calls: allocation_raise_error, if a change does not fit.';

--
-- Name: array_overlaps_each(integer[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.array_overlaps_each(p_ids integer[], p_sets text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (NOT (EXISTS (SELECT FROM unnest(array_overlaps_each.p_sets) requested(ids) WHERE (NOT (array_overlaps_each.p_ids && (requested.ids)::integer[])))));

--
-- Name: FUNCTION array_overlaps_each(p_ids integer[], p_sets text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.array_overlaps_each(p_ids integer[], p_sets text[]) IS 'Reports whether a list of ids has a member of each of some sets. p_sets are texts such as ''{1,2}''.

Called by candidate_meets, for required=in: and several member_of. Locks nothing.';

--
-- Name: baremetal_backend_set(boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.baremetal_backend_set(p_placement boolean) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_providers bigint[];
    v_node bigint;
    v_allocation node_allocations;
BEGIN
    IF (SELECT /* baremetal_backend_set 1/11 */ backend.placement FROM baremetal_backend AS backend) = p_placement THEN
        RETURN;
    END IF;
    IF p_placement THEN
        PERFORM /* baremetal_backend_set 2/11 */ node_provider_ensure_owner(owner.name)
        FROM (
            SELECT DISTINCT allocation.owner AS name FROM node_allocations AS allocation
            WHERE allocation.state = 'active' ORDER BY allocation.owner
        ) AS owner;
    END IF;
    LOCK /* baremetal_backend_set 3/11 */ TABLE nodes IN EXCLUSIVE MODE;
    UPDATE /* baremetal_backend_set 4/11 */ baremetal_backend SET placement = p_placement
    WHERE placement <> p_placement;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF NOT p_placement THEN
        v_providers := ARRAY(
            SELECT /* baremetal_backend_set 5/11 */ provider.id
            FROM resource_providers AS provider JOIN nodes AS node ON node.uuid = provider.uuid
            ORDER BY provider.id);
        PERFORM /* baremetal_backend_set 6/11 */ allocation_lock_providers('{}', v_providers);
        WITH /* baremetal_backend_set 7/11 */ changed AS (
            UPDATE inventories SET reserved = total, updated_at = now()
            WHERE provider_id = ANY (v_providers) AND reserved < total
            RETURNING provider_id
        )
        UPDATE provider_generations SET generation = generation + 1, updated_at = now()
        WHERE provider_id IN (SELECT changed.provider_id FROM changed);
        RETURN;
    END IF;
    FOR v_node IN SELECT /* baremetal_backend_set 8/11 */ node.id FROM nodes AS node ORDER BY node.id LOOP
        PERFORM /* baremetal_backend_set 9/11 */ node_provider_sync(v_node, false);
    END LOOP;
    FOR v_allocation IN
        SELECT /* baremetal_backend_set 10/11 */ allocation.* FROM node_allocations AS allocation
        WHERE allocation.state = 'active' ORDER BY allocation.node_id
    LOOP
        BEGIN
            PERFORM /* baremetal_backend_set 11/11 */ node_provider_claim(v_allocation, v_allocation.node_id, true);
        EXCEPTION
            WHEN SQLSTATE 'PL012' OR SQLSTATE 'PL050' THEN NULL;
        END;
    END LOOP;
END
$$;

--
-- Name: FUNCTION baremetal_backend_set(p_placement boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.baremetal_backend_set(p_placement boolean) IS 'Sets whether each node is also a resource provider. Does nothing if the setting has this value already.

On: creates the provider of every node, and the claim of every allocation with a node. If another
consumer has claimed the unit, that claim stays, and the node cannot be assigned while it exists. Off:
reserves the units, because nothing updates them afterwards, and deletes nothing, because other consumers
may have claims. Turning it on again reuses the providers.
Raises what node_provider_sync raises; where node_provider_claim raises PL012 (the unit is claimed) or
PL050, the allocation stays without a claim. Locks: missing projects of owners; then the table nodes IN
EXCLUSIVE MODE, which conflicts with every writer and row lock, so that no transaction uses the old
setting; then, off, the providers of nodes in the order of their ids, and on, as node_provider_sync and
node_provider_claim.
Calls, on: node_provider_ensure_owner for each owner, node_provider_sync for each node,
node_provider_claim for each active allocation. Off: allocation_lock_providers.
Takes 40 s for 10,000 nodes.
It sets enable_seqscan off: PostgreSQL plans the statements while there are hardly any providers, and
uses these plans for all of them. Without the setting 2,000 nodes take 24 s instead of 2 s.';

--
-- Name: candidate_meets(integer[], integer[], integer[], integer[], text[], integer[], text[], integer[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.candidate_meets(p_trait_ids integer[], p_aggregate_ids integer[], p_required integer[], p_forbidden integer[], p_required_any text[], p_member_of integer[], p_member_of_too text[], p_not_member_of integer[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((p_required IS NULL) OR (p_trait_ids @> p_required)) AND ((p_forbidden IS NULL) OR (NOT (p_trait_ids && p_forbidden))) AND ((p_required_any IS NULL) OR public.array_overlaps_each(p_trait_ids, p_required_any)) AND ((p_member_of IS NULL) OR (p_aggregate_ids && p_member_of)) AND ((p_member_of_too IS NULL) OR public.array_overlaps_each(p_aggregate_ids, p_member_of_too)) AND ((p_not_member_of IS NULL) OR (NOT (p_aggregate_ids && p_not_member_of))));

--
-- Name: FUNCTION candidate_meets(p_trait_ids integer[], p_aggregate_ids integer[], p_required integer[], p_forbidden integer[], p_required_any text[], p_member_of integer[], p_member_of_too text[], p_not_member_of integer[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.candidate_meets(p_trait_ids integer[], p_aggregate_ids integer[], p_required integer[], p_forbidden integer[], p_required_any text[], p_member_of integer[], p_member_of_too text[], p_not_member_of integer[]) IS 'Reports whether a provider with these traits and aggregates meets a condition of a candidate query. A null
argument of the condition requires nothing.

p_required, p_forbidden: all of these traits, none of these. p_required_any: a trait of each of these sets.
p_member_of: one of these aggregates. p_member_of_too: and one of each of these sets. p_not_member_of: none
of these aggregates.
Called by CandidatePage and CandidatePageGeneral for each provider and condition. PostgreSQL inlines it: a
plan shows the expression instead of the call. Locks nothing.
Calls: array_overlaps_each.';

--
-- Name: candidate_roots_by_pair(integer, integer, integer, boolean, bigint, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.candidate_roots_by_pair(p_aggregates integer, p_first integer, p_second integer, p_together boolean, p_after bigint, p_limit integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET enable_nestloop TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashagg TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    AS $$
BEGIN
    IF p_aggregates = 0 AND p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 1/6 */ DISTINCT one.root_id
        FROM provider_traits AS one JOIN provider_traits AS other ON other.root_id = one.root_id AND other.provider_id = one.provider_id
        WHERE one.trait_id = p_first AND other.trait_id = p_second AND one.root_id > p_after AND other.root_id > p_after
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 0 AND NOT p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 2/6 */ one.root_id
        FROM (SELECT DISTINCT member.root_id FROM provider_traits AS member
            WHERE member.trait_id = p_first AND member.root_id > p_after) AS one
        JOIN (SELECT DISTINCT member.root_id FROM provider_traits AS member
            WHERE member.trait_id = p_second AND member.root_id > p_after) AS other ON other.root_id = one.root_id
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 1 AND p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 3/6 */ DISTINCT one.root_id
        FROM provider_traits AS one JOIN provider_aggregates AS other ON other.root_id = one.root_id AND other.provider_id = one.provider_id
        WHERE one.trait_id = p_first AND other.aggregate_id = p_second AND one.root_id > p_after AND other.root_id > p_after
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 1 AND NOT p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 4/6 */ one.root_id
        FROM (SELECT DISTINCT member.root_id FROM provider_traits AS member
            WHERE member.trait_id = p_first AND member.root_id > p_after) AS one
        JOIN (SELECT DISTINCT member.root_id FROM provider_aggregates AS member
            WHERE member.aggregate_id = p_second AND member.root_id > p_after) AS other ON other.root_id = one.root_id
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 2 AND p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 5/6 */ DISTINCT one.root_id
        FROM provider_aggregates AS one JOIN provider_aggregates AS other ON other.root_id = one.root_id AND other.provider_id = one.provider_id
        WHERE one.aggregate_id = p_first AND other.aggregate_id = p_second AND one.root_id > p_after AND other.root_id > p_after
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 2 AND NOT p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 6/6 */ one.root_id
        FROM (SELECT DISTINCT member.root_id FROM provider_aggregates AS member
            WHERE member.aggregate_id = p_first AND member.root_id > p_after) AS one
        JOIN (SELECT DISTINCT member.root_id FROM provider_aggregates AS member
            WHERE member.aggregate_id = p_second AND member.root_id > p_after) AS other ON other.root_id = one.root_id
        ORDER BY one.root_id LIMIT p_limit;
    END IF;
END
$$;

--
-- Name: FUNCTION candidate_roots_by_pair(p_aggregates integer, p_first integer, p_second integer, p_together boolean, p_after bigint, p_limit integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.candidate_roots_by_pair(p_aggregates integer, p_first integer, p_second integer, p_together boolean, p_after bigint, p_limit integer) IS 'Returns the roots of the trees that satisfy two conditions, each of them a trait or an aggregate.

p_aggregates says how many of the two are aggregates; with one, the first is the trait. p_together: one
provider has both; otherwise any providers of the tree do. Returns at most p_limit roots above p_after, in
the order of their ids. Called by CandidateRootsByPair. Locks nothing.

Plan: a merge join of two ranges of an index, in their order, whatever the statistics are. Two traits of
50,000 providers each, with none in common, take 10 to 20 ms, two of 100,000 twice that. The settings
exclude other joins: without statistics the planner may expect a row where there are 50,000, and a nested
loop would take minutes.';

--
-- Name: claim_compare(bigint[], bigint[], bigint[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.claim_compare(p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (
        SELECT /* claim_compare 1/1 */ FROM unnest(p_guards, p_revisions) AS seen (provider_id, revision)
        WHERE (SELECT provider.revision FROM resource_providers AS provider WHERE provider.id = seen.provider_id)
            IS DISTINCT FROM seen.revision
        UNION ALL
        SELECT FROM unnest(p_anchors, p_shared) AS link (root_id, provider_id)
        WHERE (
            SELECT of_tree.aggregate_id FROM provider_aggregates AS of_provider
            JOIN provider_aggregates AS of_tree ON of_tree.aggregate_id = of_provider.aggregate_id
            WHERE of_provider.provider_id = link.provider_id AND of_provider.sharing AND of_tree.root_id = link.root_id
            LIMIT 1
        ) IS NULL
    ) THEN
        RAISE EXCEPTION 'a provider has changed since the search' USING ERRCODE = 'PL061', DETAIL = '{}';
    END IF;
END
$$;

--
-- Name: FUNCTION claim_compare(p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.claim_compare(p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]) IS 'Compares what a candidate was found by with what is there now.

p_guards, p_revisions: providers and the revisions that the search read. p_anchors, p_shared: roots of trees, and
providers that shared with them; both must still have an aggregate in common. Raises PL061 if anything differs.
The caller has locked the providers with allocations. One statement compares all, so a claim is as if it happened at
the moment of that statement: a write of traits, aggregates or parents that commits later comes after it.
Locks nothing.
Plan: resource_providers_pkey; provider_aggregates_pkey, then provider_aggregates_aggregate_id_idx. LIMIT 1 keeps the
lookup out of a join, see consumer_lock.';

--
-- Name: claim_create(uuid[], text[], text[], text[], bigint, integer[], bigint[], integer[], bigint[], integer[], bigint[], bigint[], integer[], bigint[], bigint[], boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.claim_create(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generation bigint, p_ends integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_guard_ends integer[], p_guards bigint[], p_revisions bigint[], p_link_ends integer[], p_anchors bigint[], p_shared bigint[], p_named boolean) RETURNS TABLE(chosen integer, full_up integer, stale integer, held integer, claimed_place integer, claimed_generation bigint, claimed_provider uuid, claimed_provider_generation bigint, claimed_class text, claimed_used bigint)
    LANGUAGE plpgsql
    AS $$
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

--
-- Name: FUNCTION claim_create(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generation bigint, p_ends integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_guard_ends integer[], p_guards bigint[], p_revisions bigint[], p_link_ends integer[], p_anchors bigint[], p_shared bigint[], p_named boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.claim_create(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generation bigint, p_ends integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_guard_ends integer[], p_guards bigint[], p_revisions bigint[], p_link_ends integer[], p_anchors bigint[], p_shared bigint[], p_named boolean) IS 'POST /claims for one consumer: claims the first of several candidates that fits.

p_consumers, p_projects, p_users, p_types (empty: none): the consumer and, if its previous allocations are handed over,
the new consumer that gets them. p_generation null: the consumer must not exist. Without a second consumer its previous
allocations count as free capacity and are replaced.
p_ends: the position in p_providers, p_classes and p_amounts at which each candidate''s allocations end; no two elements of a
candidate are for the same provider and class. p_guard_ends and p_link_ends are the same for p_guards and p_revisions, and
for p_anchors and p_shared: see claim_compare.
p_named: clients have named the candidates, see claim_create_named. They are tried in their order, and the error has the
reason of each. Otherwise they come from a search, and a second attempt with them makes no sense.

Returns all allocations of the consumers afterwards (see claim_show), in each row with: the chosen candidate (from 1); how
many candidates were full and how many had changed when they were locked; and how many were passed over because another
transaction had locked a provider.
The first pass takes no candidate with a locked provider (unless p_named), and ends after four of them. The second waits.
After the first failure claim_unfit looks at all candidates, and those that are full are left out. With p_named, the
same look decides at the end: if one fits by then, they are tried again, 16 times in all.
Raises PL003 (consumer generation), PL060 (no candidate is left; with p_named all were full at one moment), PL062 (after
16 attempts), and with p_named 40001 if a provider or class was deleted since its name was resolved.
Locks: projects, users and types by name; consumers by UUID; then, candidate by candidate, its providers and those with
previous allocations of the consumer, in the order of their ids. Each try is a subtransaction, since its failure must
release its locks: waiting for a provider while one of another candidate is locked causes deadlocks.

With berth.caller (see history_step) it notes the claim of a new consumer in outbox itself, in its last statement, and the
triggers of the record skip its rows: they would note each of them. berth.noted is set before consumer_lock inserts the
consumer, and stays set if a try is rolled back. Other claims are noted by the triggers.
Calls: consumer_lock, consumer_check_generation, claim_unfit, claim_try, claim_show.';

--
-- Name: claim_create_many(uuid[], text[], text[], text[], integer[], bigint[], integer[], bigint[], bigint[], bigint[], bigint[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.claim_create_many(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]) RETURNS TABLE(claimed_place integer, claimed_generation bigint, claimed_provider uuid, claimed_provider_generation bigint, claimed_class text, claimed_used bigint)
    LANGUAGE plpgsql
    AS $$
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

--
-- Name: FUNCTION claim_create_many(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.claim_create_many(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]) IS 'POST /claims for several consumers: claims one placement for all of them, or for none.

p_consumers, p_projects, p_users, p_types: consumers that must not exist. p_owners is the position (from 1) of the consumer
of each allocation. p_guards to p_shared: see claim_compare.
Returns the allocations of the consumers, see claim_show.
Raises PL003 (a consumer exists), PL060 (an allocation does not fit, or a provider has changed since the search).
Locks: projects, users and types by name; consumers by UUID; all providers in the order of their ids.

With berth.caller it notes the claims itself, one row of outbox for each consumer, as claim_create does.
Calls: consumer_lock, consumer_check_generation, allocation_lock_providers, claim_compare, allocation_apply, claim_show.';

--
-- Name: claim_create_named(uuid[], text[], text[], text[], bigint, integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.claim_create_named(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generation bigint, p_ends integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS TABLE(chosen integer, full_up integer, stale integer, held integer, claimed_place integer, claimed_generation bigint, claimed_provider uuid, claimed_provider_generation bigint, claimed_class text, claimed_used bigint)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_named record;
    v_none int[] := array_fill(0, ARRAY[cardinality(p_ends)]);
BEGIN
    v_named := allocation_resolve(p_providers, p_classes);
    RETURN QUERY SELECT /* claim_create_named 1/1 */ claimed.* FROM claim_create(p_consumers, p_projects, p_users, p_types, p_generation,
        p_ends, v_named.providers, v_named.classes, p_amounts,
        v_none, '{}', '{}', v_none, '{}', '{}', true) AS claimed;
END
$$;

--
-- Name: FUNCTION claim_create_named(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generation bigint, p_ends integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.claim_create_named(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generation bigint, p_ends integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) IS 'POST /claims with candidates: claim_create for candidates that name providers by UUID and classes by name.

The arguments are those of claim_create. Nothing is compared but what fits.
Returns what claim_create returns. Raises, in this order: PL009 (unknown provider), PL004 (unknown class), and what
claim_create raises. Locks: see claim_create.
Calls: allocation_resolve, claim_create.';

--
-- Name: claim_show(bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.claim_show(p_consumers bigint[]) RETURNS TABLE(shown_place integer, shown_generation bigint, shown_provider uuid, shown_provider_generation bigint, shown_class text, shown_used bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY SELECT /* claim_show 1/1 */ array_position(p_consumers, consumer.id), consumer.generation, provider.uuid,
        generation_row.generation, class.name, allocation.used
    FROM consumers AS consumer
    JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
    JOIN resource_providers AS provider ON provider.id = allocation.provider_id
    JOIN provider_generations AS generation_row ON generation_row.provider_id = allocation.provider_id
    JOIN resource_classes AS class ON class.id = allocation.class_id
    WHERE consumer.id = ANY (p_consumers)
    ORDER BY 1, allocation.id;
END
$$;

--
-- Name: FUNCTION claim_show(p_consumers bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.claim_show(p_consumers bigint[]) IS 'Returns all allocations of consumers, in the order of p_consumers and then of the allocations, with the generations of
the consumer and of the provider.

shown_place is the consumer''s position, from 1. Locks nothing.
Plan: consumers_pkey, then allocations_pkey and primary keys.';

--
-- Name: claim_try(boolean, bigint[], bigint[], bigint[], bigint[], integer[], bigint[], bigint[], integer[], bigint[], bigint[], bigint[], bigint[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.claim_try(p_wait boolean, p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_previous bigint[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked int;
BEGIN
    IF p_wait THEN
        PERFORM /* claim_try 1/7 */ FROM provider_generations AS generation_row
        WHERE generation_row.provider_id = ANY (p_providers || p_previous)
        ORDER BY generation_row.provider_id FOR NO KEY UPDATE;
    ELSE
        PERFORM /* claim_try 2/7 */ FROM provider_generations AS generation_row
        WHERE generation_row.provider_id = ANY (p_providers || p_previous)
        ORDER BY generation_row.provider_id FOR NO KEY UPDATE SKIP LOCKED;
        GET DIAGNOSTICS v_locked = ROW_COUNT;
        IF v_locked < (SELECT /* claim_try 3/7 */ count(DISTINCT wanted.id) FROM unnest(p_providers || p_previous) AS wanted (id)) THEN
            RAISE EXCEPTION 'another transaction has locked a provider' USING ERRCODE = 'PL063', DETAIL = '{}';
        END IF;
    END IF;
    PERFORM /* claim_try 4/7 */ claim_compare(p_guards, p_revisions, p_anchors, p_shared);
    IF cardinality(p_consumers) > 1 THEN
        UPDATE /* claim_try 5/7 */ allocations SET consumer_id = p_consumers[2] WHERE consumer_id = p_consumers[1];
    END IF;
    PERFORM /* claim_try 6/7 */ allocation_apply(p_consumers[1:1], p_generations[1:1], p_projects[1:1], p_users[1:1],
        p_types[1:1], array_fill(1, ARRAY[cardinality(p_providers)]), p_providers, p_classes, p_amounts);
    IF cardinality(p_consumers) > 1 THEN
        UPDATE /* claim_try 7/7 */ provider_generations SET generation = generation + 1, updated_at = now()
        WHERE provider_id = ANY (ARRAY(
            SELECT previous.id FROM unnest(p_previous) AS previous (id) WHERE previous.id <> ALL (p_providers)));
    END IF;
END
$$;

--
-- Name: FUNCTION claim_try(p_wait boolean, p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_previous bigint[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.claim_try(p_wait boolean, p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_previous bigint[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_guards bigint[], p_revisions bigint[], p_anchors bigint[], p_shared bigint[]) IS 'Claims one candidate for a consumer. The caller calls it in a subtransaction, so a failure releases its locks.

p_consumers, p_generations, p_projects, p_users, p_types: what consumer_lock returned for the consumer and, if its
previous allocations are handed over, the consumer that gets them. p_previous: providers with previous allocations.
p_providers, p_classes, p_amounts: the candidate''s allocations. The others: see claim_compare.
Previous allocations that are handed over are not checked against the inventories, because usages do not change. The
generations of their providers are incremented.
Raises PL063 (without p_wait: another transaction has locked a provider), PL061 (see claim_compare), PL010, PL011,
PL012, 40001 (see allocation_raise_error).
Locks: the candidate''s providers and p_previous in the order of their ids, without p_wait with SKIP LOCKED. The caller
has locked the consumers.
Calls: claim_compare, allocation_apply.';

--
-- Name: claim_unfit(integer[], bigint[], integer[], bigint[], bigint[], integer[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.claim_unfit(p_ends integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_released_providers bigint[], p_released_classes integer[], p_released_amounts bigint[]) RETURNS TABLE(unfit_candidate integer, unfit_rule text, unfit_provider uuid, unfit_class text)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY SELECT /* claim_unfit 1/1 */ named.candidate::int,
        CASE WHEN named.provider IS NULL OR named.class IS NULL THEN '40001' ELSE named.rule END,
        named.provider, named.class
    FROM (
        SELECT DISTINCT ON (checked.candidate) checked.candidate, checked.rule,
            (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = p_providers[checked.position])
                AS provider,
            (SELECT class.name FROM resource_classes AS class WHERE class.id = p_classes[checked.position]) AS class
        FROM (
            SELECT candidate.position AS candidate, item.position,
                CASE
                    WHEN inventory.free_capacity IS NULL THEN 'PL010'
                    WHEN p_amounts[item.position] < inventory.min_unit OR p_amounts[item.position] > inventory.max_unit
                        OR p_amounts[item.position] % inventory.step_size <> 0 THEN 'PL011'
                    -- Amounts can be as large as bigint; on this side of the comparison nothing overflows.
                    WHEN p_amounts[item.position] > released.amount
                        AND p_amounts[item.position] - released.amount > inventory.free_capacity THEN 'PL012'
                END AS rule
            FROM unnest(p_ends) WITH ORDINALITY AS candidate (last, position)
            CROSS JOIN LATERAL generate_series(coalesce(p_ends[candidate.position - 1], 0) + 1, candidate.last)
                AS item (position)
            CROSS JOIN LATERAL (
                SELECT coalesce(sum(had.amount), 0)::bigint AS amount
                FROM unnest(p_released_providers, p_released_classes, p_released_amounts)
                    AS had (provider_id, class_id, amount)
                WHERE had.provider_id = p_providers[item.position] AND had.class_id = p_classes[item.position]
            ) AS released
            LEFT JOIN LATERAL (
                SELECT stock.min_unit, stock.max_unit, stock.step_size,
                    (stock.total - stock.reserved) * stock.allocation_ratio - stock.used AS free_capacity
                FROM inventories AS stock
                WHERE stock.provider_id = p_providers[item.position] AND stock.class_id = p_classes[item.position]
                OFFSET 0
            ) AS inventory ON true
        ) AS checked
        WHERE checked.rule IS NOT NULL
        ORDER BY checked.candidate, checked.position
    ) AS named
    ORDER BY named.candidate;
END
$$;

--
-- Name: FUNCTION claim_unfit(p_ends integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_released_providers bigint[], p_released_classes integer[], p_released_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.claim_unfit(p_ends integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_released_providers bigint[], p_released_classes integer[], p_released_amounts bigint[]) IS 'Returns the candidates of a claim that do not fit at present, each with the first allocation that does not: its rule
(PL010, PL011 or PL012, see allocation_raise_error; 40001 if the provider or class does not exist any more), the
provider and the class.

Called by claim_create. p_ends: the position in the other arrays at which the allocations of each candidate end.
p_released_…: allocations that count as free capacity. Locks nothing: it is one statement, so its result is that of one
moment.
Plan: inventories_pkey for each allocation. OFFSET 0 keeps the lookup out of a join, see consumer_lock.';

--
-- Name: conductor_take_over(text, interval); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.conductor_take_over(p_hostname text, p_heartbeat_timeout interval, OUT allocations uuid[], OUT nodes uuid[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_me int := (SELECT /* conductor_take_over 1/5 */ conductor.id FROM conductors AS conductor
        WHERE conductor.hostname = p_hostname);
    v_dead int[] := ARRAY(
        SELECT /* conductor_take_over 2/5 */ conductor.id FROM conductors AS conductor
        WHERE conductor.hostname <> p_hostname
            AND (NOT conductor.online OR conductor.updated_at < now() - p_heartbeat_timeout));
BEGIN
    IF v_me IS NULL THEN
        RAISE EXCEPTION 'no conductor %', p_hostname USING ERRCODE = 'PL040',
            DETAIL = json_build_object('conductor', p_hostname);
    END IF;
    WITH /* conductor_take_over 3/5 */ orphaned AS (
        SELECT node.id FROM nodes AS node WHERE node.conductor_id = ANY (v_dead)
        ORDER BY node.id FOR NO KEY UPDATE SKIP LOCKED
    ), updated AS (
        UPDATE nodes AS node SET conductor_id = v_me, revision = node.revision + 1
        FROM orphaned WHERE node.id = orphaned.id
        RETURNING node.id, node.uuid
    )
    SELECT coalesce(array_agg(updated.uuid ORDER BY updated.id), '{}') INTO conductor_take_over.nodes FROM updated;
    WITH /* conductor_take_over 4/5 */ orphaned AS (
        SELECT allocation.id FROM node_allocations AS allocation
        WHERE allocation.state = 'allocating'
            AND (allocation.conductor_id = ANY (v_dead) OR allocation.conductor_id IS NULL)
        ORDER BY allocation.id FOR NO KEY UPDATE SKIP LOCKED
    ), updated AS (
        UPDATE node_allocations AS allocation SET conductor_id = v_me, revision = allocation.revision + 1 FROM orphaned
        WHERE allocation.id = orphaned.id
        RETURNING allocation.id, allocation.uuid
    )
    SELECT coalesce(array_agg(updated.uuid ORDER BY updated.id), '{}') INTO conductor_take_over.allocations
    FROM updated;

    DELETE /* conductor_take_over 5/5 */ FROM conductors AS conductor
    WHERE conductor.id = ANY (v_dead) AND conductor.updated_at < now() - greatest(p_heartbeat_timeout, interval '1 day')
      AND NOT EXISTS (SELECT FROM nodes AS node WHERE node.conductor_id = conductor.id)
      AND NOT EXISTS (
        SELECT FROM node_allocations AS allocation
        WHERE allocation.conductor_id = conductor.id AND allocation.state = 'allocating');
END
$$;

--
-- Name: FUNCTION conductor_take_over(p_hostname text, p_heartbeat_timeout interval, OUT allocations uuid[], OUT nodes uuid[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.conductor_take_over(p_hostname text, p_heartbeat_timeout interval, OUT allocations uuid[], OUT nodes uuid[]) IS 'Moves the work of dead conductors to p_hostname: allocations to process, and nodes to work on. A
conductor is dead if it has unregistered or its heartbeat is older than p_heartbeat_timeout. Allocations
without a conductor are moved too.

It skips rows that other transactions have locked: another conductor takes them over, or a conductor
processes them now. It deletes dead conductors without work whose heartbeat is older than a day. Returns
the UUIDs of the allocations and nodes.
Raises PL040 (the caller never registered). Locks: nodes, then allocations, without waiting.';

--
-- Name: consumer_check_generation(uuid[], bigint[], bigint[], boolean[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.consumer_check_generation(p_uuids uuid[], p_actual bigint[], p_given bigint[], p_unseen boolean[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_uuids) LOOP
        IF (p_actual[i] < 0) <> p_unseen[i] OR p_actual[i] >= 0 AND p_actual[i] <> p_given[i] THEN
            RAISE EXCEPTION 'generation of consumer % differs from the request', p_uuids[i]
                USING ERRCODE = 'PL003', DETAIL = json_build_object('consumer', p_uuids[i],
                    'actual', nullif(p_actual[i], -1),
                    'given', CASE WHEN NOT p_unseen[i] THEN p_given[i] END);
        END IF;
    END LOOP;
END
$$;

--
-- Name: FUNCTION consumer_check_generation(p_uuids uuid[], p_actual bigint[], p_given bigint[], p_unseen boolean[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.consumer_check_generation(p_uuids uuid[], p_actual bigint[], p_given bigint[], p_unseen boolean[]) IS 'Compares the generations of consumers with those in the request.

p_actual is -1 for a new consumer. p_unseen is true where the request expects that the consumer does not
exist; p_given is then ignored. Raises PL003 for the first that differs. The caller has locked the
consumers.';

--
-- Name: consumer_ensure_references(text[], text[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.consumer_ensure_references(p_projects text[], p_users text[], p_types text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT /* consumer_ensure_references 1/3 */ INTO projects (external_id)
    SELECT DISTINCT requested.id FROM unnest(p_projects) AS requested (id)
    WHERE NOT EXISTS (SELECT FROM projects AS existing WHERE existing.external_id = requested.id)
    ORDER BY requested.id ON CONFLICT DO NOTHING;
    INSERT /* consumer_ensure_references 2/3 */ INTO users (external_id)
    SELECT DISTINCT requested.id FROM unnest(p_users) AS requested (id)
    WHERE NOT EXISTS (SELECT FROM users AS existing WHERE existing.external_id = requested.id)
    ORDER BY requested.id ON CONFLICT DO NOTHING;
    INSERT /* consumer_ensure_references 3/3 */ INTO consumer_types (name)
    SELECT DISTINCT requested.name FROM unnest(p_types) AS requested (name)
    WHERE requested.name <> ''
      AND NOT EXISTS (SELECT FROM consumer_types AS existing WHERE existing.name = requested.name)
    ORDER BY requested.name ON CONFLICT DO NOTHING;
END
$$;

--
-- Name: FUNCTION consumer_ensure_references(p_projects text[], p_users text[], p_types text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.consumer_ensure_references(p_projects text[], p_users text[], p_types text[]) IS 'Inserts the projects, users and consumer types that do not exist yet.

They are never deleted, so this happens once for each. If the request fails later, the transaction rolls
the rows back. An empty type means none.
Locks: the new rows, in the order of their names.';

--
-- Name: consumer_find(boolean, bigint, uuid, uuid, bigint, uuid[], text, text, text, uuid[], uuid, text[], text, timestamp with time zone, timestamp with time zone, timestamp with time zone, timestamp with time zone, boolean, timestamp with time zone, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.consumer_find(p_descending boolean, p_from bigint, p_low uuid, p_high uuid, p_bound bigint, p_uuids uuid[], p_project text, p_user text, p_type text, p_providers uuid[], p_tree uuid, p_classes text[], p_trait text, p_created_before timestamp with time zone, p_created_after timestamp with time zone, p_updated_before timestamp with time zone, p_updated_after timestamp with time zone, p_leased boolean, p_expires_before timestamp with time zone, p_until_before timestamp with time zone, p_from_expiry timestamp with time zone) RETURNS TABLE(rank bigint, id bigint, is_last boolean)
    LANGUAGE sql STABLE
    AS $$
WITH /* consumer_find 1/1 */ named AS MATERIALIZED (
    SELECT
        (SELECT project.id FROM projects AS project WHERE project.external_id = p_project) AS project_id,
        (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_user) AS user_id,
        (SELECT type.id FROM consumer_types AS type WHERE type.name = p_type) AS type_id,
        (SELECT trait.id FROM traits AS trait WHERE trait.name = p_trait) AS trait_id,
        (SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = p_tree) AS root_id,
        ARRAY(
            SELECT class.id FROM unnest(p_classes) AS requested (name)
            CROSS JOIN LATERAL (SELECT one.id FROM resource_classes AS one WHERE one.name = requested.name OFFSET 0) AS class
        ) AS class_ids,
        ARRAY(
            SELECT provider.id FROM unnest(p_providers) AS requested (uuid)
            CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.uuid = requested.uuid OFFSET 0) AS provider
        ) AS provider_ids

), leading_provider AS MATERIALIZED (
    SELECT provider.id FROM named CROSS JOIN LATERAL unnest(named.provider_ids) AS provider (id)
    UNION ALL
    (
        SELECT provider.id FROM named
        CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.root_id = named.root_id OFFSET 0) AS provider
        WHERE p_providers IS NULL LIMIT 1001
    )
    UNION ALL
    (
        SELECT provider.id FROM named
        CROSS JOIN LATERAL (SELECT one.provider_id AS id FROM provider_traits AS one WHERE one.trait_id = named.trait_id OFFSET 0) AS provider
        WHERE p_providers IS NULL AND p_tree IS NULL LIMIT 1001
    )

), lead AS MATERIALIZED (
    SELECT CASE
        WHEN p_project IS NOT NULL AND named.project_id IS NULL
            OR p_user IS NOT NULL AND named.user_id IS NULL
            OR p_type <> 'unknown' AND named.type_id IS NULL
            OR p_trait IS NOT NULL AND named.trait_id IS NULL
            OR p_tree IS NOT NULL AND named.root_id IS NULL
            OR p_classes IS NOT NULL AND named.class_ids = '{}'
            OR p_providers IS NOT NULL AND named.provider_ids = '{}' THEN 'nothing'
        WHEN p_from_expiry IS NOT NULL THEN 'lease'
        WHEN p_low IS NOT NULL THEN 'search'
        WHEN p_uuids IS NOT NULL THEN 'uuid'
        WHEN (p_providers IS NOT NULL OR p_tree IS NOT NULL OR p_trait IS NOT NULL)
            AND (SELECT count(*) FROM leading_provider) <= 1000
            AND (SELECT count(*) FROM (
                SELECT FROM leading_provider
                CROSS JOIN LATERAL (SELECT FROM allocations AS one WHERE one.provider_id = leading_provider.id OFFSET 0) AS allocation
                LIMIT p_bound
            ) AS counted) < p_bound THEN 'provider'
        WHEN p_project IS NOT NULL AND (SELECT count(*) FROM (
                SELECT FROM consumers AS one
                WHERE one.project_id = named.project_id
                    AND one.user_id BETWEEN COALESCE(named.user_id, 0) AND COALESCE(named.user_id, 9223372036854775807)
                LIMIT p_bound
            ) AS counted) < p_bound THEN 'project'
        WHEN (COALESCE(p_leased, false) OR p_expires_before IS NOT NULL OR p_until_before IS NOT NULL)
            AND (SELECT count(*) FROM (
                SELECT FROM leases AS lease WHERE lease.due < COALESCE(p_expires_before, 'infinity')
                ORDER BY lease.due LIMIT p_bound
            ) AS counted) < p_bound THEN 'lease'
        ELSE 'walk'
    END AS name,
    (SELECT count(*) FROM leading_provider) <= 1000 AS has_all_providers
    FROM named

), found AS (
    SELECT
        row_number() OVER (ORDER BY one.uuid) AS rank, one.id, one.uuid, one.project_id, one.user_id, one.consumer_type_id,
        one.created_at, one.updated_at
    FROM (
        SELECT
            consumer.id, consumer.uuid, consumer.project_id, consumer.user_id, consumer.consumer_type_id, consumer.created_at, consumer.updated_at
        FROM consumers AS consumer
        WHERE (SELECT lead.name FROM lead) = 'search' AND consumer.uuid BETWEEN p_low AND p_high
        ORDER BY consumer.uuid LIMIT p_bound
    ) AS one
    UNION ALL
    SELECT
        CASE WHEN p_descending THEN -consumer.id ELSE consumer.id END, consumer.id, consumer.uuid, consumer.project_id, consumer.user_id,
        consumer.consumer_type_id, consumer.created_at, consumer.updated_at
    FROM (SELECT DISTINCT given.uuid FROM unnest(p_uuids) AS given (uuid)) AS requested
    CROSS JOIN LATERAL (
        SELECT one.id, one.uuid, one.project_id, one.user_id, one.consumer_type_id, one.created_at, one.updated_at
        FROM consumers AS one WHERE one.uuid = requested.uuid OFFSET 0
    ) AS consumer
    WHERE (SELECT lead.name FROM lead) = 'uuid'
    UNION ALL
    SELECT CASE WHEN p_descending THEN -holder.id ELSE holder.id END, holder.id, NULL, NULL, NULL, NULL, NULL, NULL FROM (
        SELECT DISTINCT allocation.consumer_id AS id FROM leading_provider
        CROSS JOIN LATERAL (
            SELECT one.consumer_id FROM allocations AS one WHERE one.provider_id = leading_provider.id OFFSET 0
        ) AS allocation
        WHERE (SELECT lead.name FROM lead) = 'provider'
    ) AS holder
    UNION ALL
    SELECT
        CASE WHEN p_descending THEN -consumer.id ELSE consumer.id END, consumer.id, consumer.uuid, consumer.project_id, consumer.user_id,
        consumer.consumer_type_id, consumer.created_at, consumer.updated_at
    FROM named
    CROSS JOIN LATERAL (
        SELECT one.id, one.uuid, one.project_id, one.user_id, one.consumer_type_id, one.created_at, one.updated_at
        FROM consumers AS one
        WHERE one.project_id = named.project_id
            AND one.user_id BETWEEN COALESCE(named.user_id, 0) AND COALESCE(named.user_id, 9223372036854775807)
        OFFSET 0
    ) AS consumer
    WHERE (SELECT lead.name FROM lead) = 'project'
    UNION ALL
    SELECT
        CASE WHEN p_from_expiry IS NOT NULL THEN row_number() OVER (ORDER BY one.expires_at, one.consumer_id)
            WHEN p_descending THEN -one.consumer_id ELSE one.consumer_id END,
        one.consumer_id, NULL, NULL, NULL, NULL, NULL, NULL
    FROM (
        -- due is at most expires_at
        SELECT lease.consumer_id, lease.expires_at FROM leases AS lease
        WHERE (SELECT lead.name FROM lead) = 'lease' AND lease.due < COALESCE(p_expires_before, 'infinity')
            AND (p_from_expiry IS NULL OR (lease.expires_at, lease.consumer_id) >= (p_from_expiry, p_from))
        ORDER BY CASE WHEN p_from_expiry IS NOT NULL THEN lease.expires_at END, lease.consumer_id
        LIMIT p_bound
    ) AS one
    UNION ALL
    (
        SELECT
            consumer.id AS rank, consumer.id, consumer.uuid, consumer.project_id, consumer.user_id, consumer.consumer_type_id,
            consumer.created_at, consumer.updated_at
        FROM consumers AS consumer
        WHERE (SELECT lead.name FROM lead) = 'walk' AND NOT p_descending AND consumer.id >= p_from
        ORDER BY consumer.id LIMIT p_bound
    )
    UNION ALL
    (
        SELECT
            -consumer.id AS rank, consumer.id, consumer.uuid, consumer.project_id, consumer.user_id, consumer.consumer_type_id,
            consumer.created_at, consumer.updated_at
        FROM consumers AS consumer
        WHERE (SELECT lead.name FROM lead) = 'walk' AND p_descending AND consumer.id <= -p_from
        ORDER BY consumer.id DESC LIMIT p_bound
    )

), looked_at AS (
    SELECT
        found.rank, found.id, found.uuid, found.project_id, found.user_id, found.consumer_type_id, found.created_at, found.updated_at,
        row_number() OVER (ORDER BY found.rank) AS position
    FROM found
    WHERE p_low IS NOT NULL OR p_from_expiry IS NOT NULL OR found.rank >= p_from
    ORDER BY found.rank LIMIT p_bound
)
SELECT looked_at.rank, looked_at.id, looked_at.position = p_bound AS is_last
FROM named CROSS JOIN looked_at
CROSS JOIN LATERAL (
    -- Those of leading providers are read here, until the page is full; others have been read.
    SELECT
        looked_at.uuid, looked_at.project_id, looked_at.user_id, looked_at.consumer_type_id, looked_at.created_at,
        COALESCE(looked_at.updated_at, looked_at.created_at) AS updated_at
    WHERE looked_at.uuid IS NOT NULL
    UNION ALL
    SELECT one.uuid, one.project_id, one.user_id, one.consumer_type_id, one.created_at, COALESCE(one.updated_at, one.created_at)
    FROM consumers AS one WHERE looked_at.uuid IS NULL AND one.id = looked_at.id
    OFFSET 0
) AS consumer
WHERE looked_at.position = p_bound OR (
    (p_uuids IS NULL OR consumer.uuid = ANY (p_uuids))
    AND (p_project IS NULL OR consumer.project_id = named.project_id)
    AND (p_user IS NULL OR consumer.user_id = named.user_id)
    AND (p_type IS NULL OR consumer.consumer_type_id IS NOT DISTINCT FROM named.type_id)
    AND (p_created_before IS NULL OR consumer.created_at < p_created_before)
    AND (p_created_after IS NULL OR consumer.created_at >= p_created_after)
    AND (p_updated_before IS NULL OR consumer.updated_at < p_updated_before)
    AND (p_updated_after IS NULL OR consumer.updated_at >= p_updated_after)
    AND (p_leased IS NOT false OR NOT EXISTS (SELECT FROM leases AS lease WHERE lease.consumer_id = looked_at.id OFFSET 0))
    AND (p_leased IS NOT true AND p_expires_before IS NULL AND p_until_before IS NULL OR EXISTS (
        SELECT FROM leases AS lease
        WHERE lease.consumer_id = looked_at.id
            AND (p_expires_before IS NULL OR lease.expires_at < p_expires_before)
            AND (p_until_before IS NULL OR lease.until < p_until_before)
        OFFSET 0))
    AND (p_providers IS NULL AND p_tree IS NULL AND p_classes IS NULL AND p_trait IS NULL
        OR (SELECT lead.name FROM lead) = 'provider' AND p_classes IS NULL AND num_nonnulls(p_providers, p_tree, p_trait) = 1
        OR EXISTS (
        SELECT FROM allocations AS allocation
        WHERE allocation.consumer_id = looked_at.id
            AND (p_providers IS NULL OR allocation.provider_id IN (SELECT leading_provider.id FROM leading_provider))
            AND (p_classes IS NULL OR allocation.class_id = ANY (named.class_ids))
            -- Compared by a hash, if these are the providers of the tree or with the trait, and not too many.
            AND (p_tree IS NULL OR CASE
                WHEN p_providers IS NULL AND (SELECT lead.has_all_providers FROM lead)
                    THEN allocation.provider_id IN (SELECT leading_provider.id FROM leading_provider)
                ELSE named.root_id = (SELECT provider.root_id FROM resource_providers AS provider WHERE provider.id = allocation.provider_id)
            END)
            AND (p_trait IS NULL OR CASE
                WHEN p_providers IS NULL AND p_tree IS NULL AND (SELECT lead.has_all_providers FROM lead)
                    THEN allocation.provider_id IN (SELECT leading_provider.id FROM leading_provider)
                ELSE EXISTS (
                    SELECT FROM provider_traits AS member
                    WHERE member.provider_id = allocation.provider_id AND member.trait_id = named.trait_id OFFSET 0)
            END)
        OFFSET 0)))
ORDER BY looked_at.rank
$$;

--
-- Name: FUNCTION consumer_find(p_descending boolean, p_from bigint, p_low uuid, p_high uuid, p_bound bigint, p_uuids uuid[], p_project text, p_user text, p_type text, p_providers uuid[], p_tree uuid, p_classes text[], p_trait text, p_created_before timestamp with time zone, p_created_after timestamp with time zone, p_updated_before timestamp with time zone, p_updated_after timestamp with time zone, p_leased boolean, p_expires_before timestamp with time zone, p_until_before timestamp with time zone, p_from_expiry timestamp with time zone); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.consumer_find(p_descending boolean, p_from bigint, p_low uuid, p_high uuid, p_bound bigint, p_uuids uuid[], p_project text, p_user text, p_type text, p_providers uuid[], p_tree uuid, p_classes text[], p_trait text, p_created_before timestamp with time zone, p_created_after timestamp with time zone, p_updated_before timestamp with time zone, p_updated_after timestamp with time zone, p_leased boolean, p_expires_before timestamp with time zone, p_until_before timestamp with time zone, p_from_expiry timestamp with time zone) IS 'Returns the consumers that pass the filters of GET /consumers, in the order of rank, among the next p_bound consumers
from a place on.

Called by the queries ConsumerList and ConsumerCount, into which PostgreSQL inlines it. Locks nothing.
p_from is the place: the least rank, which is the id, or with p_descending the negative id. p_low and p_high are the range
of UUIDs of the parameter q, from the place on: then the order is that of the UUIDs, and p_from does not count.
The row with is_last is the p_bound-th: the place of the next page. It is there also if it does not pass the filters.
Filters that are null pass all. The type ''unknown'' is that of consumers without one. An unknown name passes none.
With p_from_expiry the order is that of expires_at, then id, from that time and the id p_from on. Then the caller sets p_leased and
no p_low, and all leases are read to sort them.

lead is the filter whose index finds the consumers: ''search'' (consumers_uuid_key, for q), ''uuid'' (the same), ''provider''
(allocations_provider_id_idx, for providers, a tree or a trait), ''project'' (consumers_project_id_idx), ''lease'' (leases_due_idx, for
filters on leases; with p_from_expiry always) or ''walk''
(consumers_pkey). A filter leads if it has fewer entries than p_bound in its index,
and at most 1,000 providers: a page reads all of them. With project the entries are those of the user too, if there is one. For
others it walks, and reads at most p_bound consumers. Each branch of found has a condition on lead, so that only one of them
runs, and reads the consumers, except that of providers. Filters on allocations are look-ups of keys for each consumer, unless the only one leads.
Plan: the index of the lead, then keys: consumers_pkey, allocations_pkey, resource_providers_pkey, provider_traits_pkey.
OFFSET 0 forces these look-ups: the planner adds the rows of all branches, and would choose scans and hash joins.';

--
-- Name: consumer_lock(uuid[], text[], text[], text[], boolean[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.consumer_lock(p_uuids uuid[], p_projects text[], p_users text[], p_types text[], p_unseen boolean[], OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types integer[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_missing bool;
    v_order int[];
    v_position int;
    v_id bigint;
    v_generation bigint;
BEGIN
    -- Most requests are for one new consumer of a project, user and type that exist: one statement
    -- handles them.
    IF cardinality(p_uuids) = 1 AND p_unseen[1] THEN
        INSERT /* consumer_lock 1/5 */ INTO consumers AS made (uuid, generation, project_id, user_id, consumer_type_id)
        SELECT p_uuids[1], 1, found.project, found.owner, found.type
        FROM (
            SELECT (SELECT project.id FROM projects AS project WHERE project.external_id = p_projects[1]) AS project,
                (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_users[1]) AS owner,
                (SELECT type.id FROM consumer_types AS type WHERE type.name = p_types[1]) AS type
            OFFSET 0  -- one lookup of each, although each is used twice
        ) AS found
        WHERE found.project IS NOT NULL AND found.owner IS NOT NULL AND (found.type IS NOT NULL OR p_types[1] = '')
          AND NOT EXISTS (SELECT FROM consumers AS existing WHERE existing.uuid = p_uuids[1])
        ON CONFLICT (uuid) DO NOTHING
        RETURNING ARRAY[made.id], '{-1}'::bigint[], ARRAY[made.project_id], ARRAY[made.user_id],
            ARRAY[coalesce(made.consumer_type_id, 0)]
        INTO ids, generations, projects, users, types;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;

    LOOP
        -- Each aggregate states its order: since version 16 PostgreSQL sorts its input for one that
        -- does, and an aggregate without an order then receives the rows in that order.
        SELECT /* consumer_lock 2/5 */ coalesce(array_agg(found.project ORDER BY found.position), '{}'),
            coalesce(array_agg(found.owner ORDER BY found.position), '{}'),
            coalesce(array_agg(found.type ORDER BY found.position), '{}'),
            coalesce(array_agg(found.position ORDER BY found.uuid), '{}'),
            bool_or(found.project IS NULL OR found.owner IS NULL OR found.type IS NULL)
        INTO projects, users, types, v_order, v_missing
        FROM (
            SELECT requested.position, requested.uuid,
                (SELECT project.id FROM projects AS project WHERE project.external_id = requested.project) AS project,
                (SELECT owner.id FROM users AS owner WHERE owner.external_id = requested.owner) AS owner,
                CASE WHEN requested.type = '' THEN 0
                    ELSE (SELECT type.id FROM consumer_types AS type WHERE type.name = requested.type) END AS type
            FROM unnest(p_uuids, p_projects, p_users, p_types)
                WITH ORDINALITY AS requested (uuid, project, owner, type, position)
        ) AS found;
        EXIT WHEN v_missing IS NOT TRUE;
        PERFORM /* consumer_lock 3/5 */ consumer_ensure_references(p_projects, p_users, p_types);
    END LOOP;

    ids := array_fill(0, ARRAY[cardinality(p_uuids)]);
    generations := ids;
    FOREACH v_position IN ARRAY v_order LOOP
        LOOP
            SELECT /* consumer_lock 4/5 */ consumer.id, consumer.generation INTO v_id, v_generation
            FROM consumers AS consumer WHERE consumer.uuid = p_uuids[v_position] FOR NO KEY UPDATE;
            EXIT WHEN FOUND;
            v_generation := -1;
            INSERT /* consumer_lock 5/5 */ INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
            VALUES (p_uuids[v_position], 1, projects[v_position], users[v_position], nullif(types[v_position], 0))
            ON CONFLICT (uuid) DO NOTHING
            RETURNING id INTO v_id;
            -- Another transaction inserted the consumer: the next iteration locks it.
            EXIT WHEN FOUND;
        END LOOP;
        ids[v_position] := v_id;
        generations[v_position] := v_generation;
    END LOOP;
END
$$;

--
-- Name: FUNCTION consumer_lock(p_uuids uuid[], p_projects text[], p_users text[], p_types text[], p_unseen boolean[], OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types integer[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.consumer_lock(p_uuids uuid[], p_projects text[], p_users text[], p_types text[], p_unseen boolean[], OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types integer[]) IS 'Locks the consumers of a request and inserts those that do not exist.

p_uuids, p_projects, p_users, p_types: one element per consumer; an empty type means none. p_unseen is a
hint: the client expects that the consumer is new. A new consumer gets generation 1, its generation after
the request; if the request fails, the transaction rolls it back. Returns, in the order of p_uuids: ids,
generations (-1 for a new consumer), and the ids of projects, users and types (0 for none).
Locks: new projects, users and types in the order of their names; then the consumers FOR NO KEY UPDATE in
the order of their UUIDs, one by one, inserted or found.

This function and those around it look rows up with scalar subqueries and loops on purpose: each lookup
is an index lookup in every plan. PostgreSQL sometimes plans a join of an array and a table as a scan of
the table.';

--
-- Name: consumer_look_at(boolean, bigint, uuid, uuid, bigint, uuid[], text, text, text, uuid[], uuid, text[], text, timestamp with time zone, timestamp with time zone, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.consumer_look_at(p_descending boolean, p_from bigint, p_low uuid, p_high uuid, p_bound bigint, p_uuids uuid[], p_project text, p_user text, p_type text, p_providers uuid[], p_tree uuid, p_classes text[], p_trait text, p_created_before timestamp with time zone, p_created_after timestamp with time zone, p_updated_before timestamp with time zone, p_updated_after timestamp with time zone) RETURNS TABLE(rank bigint, id bigint, is_last boolean)
    LANGUAGE sql STABLE
    AS $$
SELECT /* consumer_look_at 1/1 */ looked.rank, looked.id, looked.is_last FROM consumer_find(
    p_descending, p_from, p_low, p_high, p_bound, p_uuids, p_project, p_user, p_type,
    p_providers, p_tree, p_classes, p_trait, p_created_before, p_created_after, p_updated_before, p_updated_after,
    NULL, NULL, NULL, NULL
) AS looked
$$;

--
-- Name: FUNCTION consumer_look_at(p_descending boolean, p_from bigint, p_low uuid, p_high uuid, p_bound bigint, p_uuids uuid[], p_project text, p_user text, p_type text, p_providers uuid[], p_tree uuid, p_classes text[], p_trait text, p_created_before timestamp with time zone, p_created_after timestamp with time zone, p_updated_before timestamp with time zone, p_updated_after timestamp with time zone); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.consumer_look_at(p_descending boolean, p_from bigint, p_low uuid, p_high uuid, p_bound bigint, p_uuids uuid[], p_project text, p_user text, p_type text, p_providers uuid[], p_tree uuid, p_classes text[], p_trait text, p_created_before timestamp with time zone, p_created_after timestamp with time zone, p_updated_before timestamp with time zone, p_updated_after timestamp with time zone) IS 'Returns consumers without filters on leases. See consumer_find.

Servers of earlier versions call it; a later migration drops it.
Calls: consumer_find. Locks nothing.';

--
-- Name: consumer_write_changes(bigint[], bigint[], bigint[], integer[], boolean[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.consumer_write_changes(p_consumers bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_changed boolean[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_consumers) LOOP
        IF p_changed[i] THEN
            UPDATE /* consumer_write_changes 1/2 */ consumers SET generation = generation + 1, updated_at = now(),
                project_id = coalesce(p_projects[i], project_id), user_id = coalesce(p_users[i], user_id),
                consumer_type_id = coalesce(nullif(p_types[i], 0), consumer_type_id)
            WHERE id = p_consumers[i];
        END IF;
        DELETE /* consumer_write_changes 2/2 */ FROM consumers AS consumer
        WHERE consumer.id = p_consumers[i]
          AND NOT EXISTS (SELECT FROM allocations AS allocation WHERE allocation.consumer_id = consumer.id);
    END LOOP;
END
$$;

--
-- Name: FUNCTION consumer_write_changes(p_consumers bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_changed boolean[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.consumer_write_changes(p_consumers bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_changed boolean[]) IS 'Writes the attributes and generations of consumers whose allocations a request has changed, and deletes those without
allocations.

p_projects, p_users: ids; null: unchanged. p_types: ids; null or 0: unchanged. p_changed: the consumer existed and it
or its allocations change; its generation is incremented. Locks: nothing more. The caller has locked the consumers.';

--
-- Name: history_aggregate_uuids(integer[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_aggregate_uuids(p_ids integer[]) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT /* history_aggregate_uuids 1/1 */ to_jsonb(ARRAY(SELECT member.uuid FROM aggregates AS member WHERE member.id = ANY (p_ids) ORDER BY member.uuid))
    WHERE p_ids IS NOT NULL
$$;

--
-- Name: FUNCTION history_aggregate_uuids(p_ids integer[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_aggregate_uuids(p_ids integer[]) IS 'The UUIDs of aggregates as notes have them: a sorted array, empty without aggregates; null for null.';

--
-- Name: history_allocations_at(bigint, uuid[], uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_allocations_at(p_index bigint, p_providers uuid[], p_consumers uuid[]) RETURNS TABLE(consumer uuid, provider uuid, class text, class_order bigint, used bigint, id bigint, created_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_renames jsonb := history_renames(p_index);
BEGIN
    -- A change has only the classes that it has changed: each of them, before or after.
    RETURN QUERY
    WITH /* history_allocations_at 1/1 */ later AS MATERIALIZED (
        SELECT DISTINCT ON (change.consumer, change.provider, named.class) change.consumer, change.provider, named.class,
            (change.before -> 'resources' ->> touched.class)::bigint AS used
        FROM history_later(p_index, '{allocation}', p_providers, p_consumers) AS change
        CROSS JOIN LATERAL jsonb_object_keys(coalesce(change.before -> 'resources', '{}') || coalesce(change.after -> 'resources', '{}')) AS touched (class)
        CROSS JOIN LATERAL (SELECT history_class_then(v_renames, touched.class, change.index) AS class OFFSET 0) AS named
        ORDER BY change.consumer, change.provider, named.class, change.index
    ), held AS (
        SELECT one.id, one.consumer_id, one.provider_id, one.class_id, one.used, one.created_at
        FROM unnest(p_providers) AS key (uuid)
        CROSS JOIN LATERAL (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = key.uuid OFFSET 0) AS existing
        CROSS JOIN LATERAL (SELECT allocation.* FROM allocations AS allocation WHERE allocation.provider_id = existing.id OFFSET 0) AS one
        UNION ALL
        SELECT one.id, one.consumer_id, one.provider_id, one.class_id, one.used, one.created_at
        FROM unnest(p_consumers) AS key (uuid)
        CROSS JOIN LATERAL (SELECT consumer.id FROM consumers AS consumer WHERE consumer.uuid = key.uuid OFFSET 0) AS existing
        CROSS JOIN LATERAL (SELECT allocation.* FROM allocations AS allocation WHERE allocation.consumer_id = existing.id OFFSET 0) AS one
    ), present AS (
        SELECT (SELECT one.uuid FROM consumers AS one WHERE one.id = held.consumer_id) AS consumer,
            (SELECT one.uuid FROM resource_providers AS one WHERE one.id = held.provider_id) AS provider,
            history_class_then(v_renames, (SELECT one.name FROM resource_classes AS one WHERE one.id = held.class_id), NULL) AS class,
            held.used, held.id, held.created_at
        FROM held
    )
    SELECT listed.consumer, listed.provider, listed.class,
        coalesce((SELECT known.id FROM resource_classes AS known WHERE known.name = listed.class), 2147483647)::bigint,
        listed.used, listed.id, listed.created_at
    FROM (
        SELECT later.consumer, later.provider, later.class, later.used, NULL::bigint AS id, NULL::timestamptz AS created_at
        FROM later WHERE later.used IS NOT NULL
        UNION ALL
        SELECT present.* FROM present
        WHERE NOT EXISTS (
            SELECT FROM later WHERE later.consumer = present.consumer AND later.provider = present.provider AND later.class = present.class)
    ) AS listed;
END
$$;

--
-- Name: FUNCTION history_allocations_at(p_index bigint, p_providers uuid[], p_consumers uuid[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_allocations_at(p_index bigint, p_providers uuid[], p_consumers uuid[]) IS 'Returns the allocations that there were at an event, on providers or of consumers.

p_providers or p_consumers is null; each UUID once. class is the name that the class had then; class_order sorts as class ids do. id and
created_at are null for an allocation that has changed since.
Called by tree_show_at, history_consumers_at and the query TreeUsersAt. Locks: none.
Plan: history_later; resource_providers_uuid_key and allocations_provider_id_idx, or consumers_uuid_key and allocations_pkey; keys of the names.';

--
-- Name: history_bytes(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_bytes() RETURNS bigint
    LANGUAGE sql STABLE
    AS $$
    SELECT /* history_bytes 1/1 */ (pg_total_relation_size('outbox') + coalesce(sum(pg_total_relation_size(part.inhrelid)), 0))::bigint
    FROM pg_inherits AS part WHERE part.inhparent = 'history'::regclass
$$;

--
-- Name: FUNCTION history_bytes(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_bytes() IS 'Returns the size of the record on disk, with its indexes and the notes that are not in order yet. Called by HistorySettingsShow.';

--
-- Name: history_changes(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_changes(p_swept bigint) RETURNS TABLE(xid xid8, last bigint, seq bigint, topic text, provider uuid, consumer uuid, node uuid, class text, before jsonb, after jsonb, generation bigint)
    LANGUAGE sql STABLE
    AS $$
    WITH /* history_changes 1/1 */ taken AS MATERIALIZED (
        SELECT note.* FROM outbox AS note WHERE note.seq > p_swept
    ),
    writes AS MATERIALIZED (
        SELECT taken.xid, max(taken.seq) AS last FROM taken GROUP BY taken.xid
    ),
    -- The UUIDs of rows that were gone at the commit are in other notes of the same write.
    gone AS MATERIALIZED (
        SELECT DISTINCT taken.xid, taken.topic, coalesce(taken.provider_id, taken.consumer_id, taken.node_id) AS id,
            coalesce(taken.provider, taken.consumer, taken.node) AS uuid
        FROM taken WHERE taken.topic IN ('provider', 'consumer', 'node') AND (taken.before IS NOT NULL AND taken.after IS NULL)
    ),
    notes AS MATERIALIZED (
        SELECT taken.xid, taken.seq, taken.topic,
            CASE WHEN taken.provider IS NULL AND taken.provider_id IS NOT NULL THEN (
                SELECT gone.uuid FROM gone WHERE gone.xid = taken.xid AND gone.topic = 'provider' AND gone.id = taken.provider_id
            ) ELSE taken.provider END AS provider,
            CASE WHEN taken.consumer IS NULL AND taken.consumer_id IS NOT NULL THEN (
                SELECT gone.uuid FROM gone WHERE gone.xid = taken.xid AND gone.topic = 'consumer' AND gone.id = taken.consumer_id
            ) ELSE taken.consumer END AS consumer,
            CASE WHEN taken.node IS NULL AND taken.node_id IS NOT NULL THEN (
                SELECT gone.uuid FROM gone WHERE gone.xid = taken.xid AND gone.topic = 'node' AND gone.id = taken.node_id
            ) ELSE taken.node END AS node,
            taken.class, taken.generation, taken.before, taken.after
        FROM taken WHERE taken.topic <> 'claim'
    ),
    -- Several notes of one object.
    merged AS MATERIALIZED (
        SELECT note.xid, note.topic, note.provider, note.consumer, note.node, note.class, min(note.seq) AS seq,
            (array_agg(note.before ORDER BY note.seq))[1] AS before, (array_agg(note.after ORDER BY note.seq DESC))[1] AS after
        FROM notes AS note WHERE note.topic <> 'generation'
        GROUP BY note.xid, note.topic, note.provider, note.consumer, note.node, note.class
        HAVING (array_agg(note.before ORDER BY note.seq))[1] IS DISTINCT FROM (array_agg(note.after ORDER BY note.seq DESC))[1]
    ),
    generations AS MATERIALIZED (
        SELECT note.xid, note.provider, max(note.generation) AS generation
        FROM notes AS note WHERE note.topic = 'generation' GROUP BY note.xid, note.provider
    ),
    -- What has changed of a consumer: of its allocations a row for each provider.
    held AS (
        SELECT merged.xid, merged.consumer, merged.provider, min(merged.seq) AS seq,
            coalesce(jsonb_object_agg(merged.class, merged.before) FILTER (WHERE merged.before IS NOT NULL), '{}') AS before,
            coalesce(jsonb_object_agg(merged.class, merged.after) FILTER (WHERE merged.after IS NOT NULL), '{}') AS after
        FROM merged WHERE merged.topic = 'allocation' GROUP BY merged.xid, merged.consumer, merged.provider
    ),
    consumers_of AS (
        SELECT coalesce(attributes.xid, lease.xid) AS xid, coalesce(attributes.consumer, lease.consumer) AS consumer,
            coalesce(attributes.seq, lease.seq) AS seq,
            attributes.before IS NULL AND attributes.after IS NOT NULL AS is_new,
            attributes.after IS NULL AND attributes.before IS NOT NULL AS is_gone,
            coalesce(attributes.before, '{}') || CASE WHEN lease.consumer IS NOT NULL
                THEN jsonb_build_object('lease', lease.before) ELSE '{}' END AS before,
            coalesce(attributes.after, '{}') || CASE WHEN lease.consumer IS NOT NULL
                THEN jsonb_build_object('lease', lease.after) ELSE '{}' END AS after
        FROM (SELECT * FROM merged WHERE merged.topic = 'consumer') AS attributes
        FULL JOIN (SELECT * FROM merged WHERE merged.topic = 'lease') AS lease
            ON lease.xid = attributes.xid AND lease.consumer = attributes.consumer
    ),
    changes AS (
        SELECT merged.xid, merged.seq, merged.topic, merged.provider, merged.consumer, merged.node, merged.class,
            CASE WHEN merged.topic IN ('provider', 'node_allocation') THEN (
                SELECT jsonb_object_agg(member.key, CASE WHEN jsonb_typeof(member.value) = 'number' THEN (
                    SELECT to_jsonb(gone.uuid) FROM gone
                    WHERE gone.xid = merged.xid AND gone.topic = CASE member.key WHEN 'node_uuid' THEN 'node' ELSE 'provider' END
                      AND gone.id = member.value::bigint
                ) ELSE member.value END)
                FROM jsonb_each(merged.before) AS member
            ) ELSE merged.before END AS before,
            merged.after, NULL::bigint AS generation
        FROM merged WHERE merged.topic NOT IN ('allocation', 'consumer', 'lease')
        UNION ALL
        SELECT coalesce(held.xid, consumer.xid), coalesce(held.seq, consumer.seq), 'allocation', held.provider,
            coalesce(held.consumer, consumer.consumer), NULL, NULL,
            CASE WHEN NOT coalesce(consumer.is_new, false) THEN coalesce(consumer.before, '{}') || CASE WHEN held.provider IS NOT NULL
                THEN jsonb_build_object('resources', held.before) ELSE '{}' END END,
            CASE WHEN NOT coalesce(consumer.is_gone, false) THEN coalesce(consumer.after, '{}') || CASE WHEN held.provider IS NOT NULL
                THEN jsonb_build_object('resources', held.after) ELSE '{}' END END,
            NULL
        FROM held FULL JOIN consumers_of AS consumer ON consumer.xid = held.xid AND consumer.consumer = held.consumer
        WHERE held.provider IS NOT NULL
           OR consumer.before - 'consumer_generation' IS DISTINCT FROM consumer.after - 'consumer_generation'
        UNION ALL
        SELECT claim.xid, claim.seq, 'allocation', held.provider, claim.consumer, NULL, NULL, NULL,
            claim.after || jsonb_build_object('resources', held.resources), held.generation
        FROM taken AS claim
        CROSS JOIN LATERAL (
            SELECT item.provider, jsonb_object_agg(item.class, item.amount) AS resources, max(item.generation) AS generation
            FROM (
                SELECT CASE WHEN cardinality(claim.providers) = 1 THEN claim.providers[1] ELSE claim.providers[item.position] END AS provider,
                    CASE WHEN cardinality(claim.providers) = 1 THEN claim.generations[1] ELSE claim.generations[item.position] END AS generation,
                    claim.classes[item.position] AS class, claim.amounts[item.position] AS amount
                FROM generate_subscripts(claim.classes, 1) AS item (position)
            ) AS item
            GROUP BY item.provider
        ) AS held
        WHERE claim.topic = 'claim'
    )
    SELECT change.xid, written.last, change.seq, change.topic,
        change.provider, change.consumer, change.node, change.class, change.before, change.after,
        coalesce(change.generation, (SELECT raised.generation FROM generations AS raised
            WHERE raised.xid = change.xid AND raised.provider = change.provider))
    FROM changes AS change JOIN writes AS written USING (xid)
$$;

--
-- Name: FUNCTION history_changes(p_swept bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_changes(p_swept bigint) IS 'Returns what the notes of committed writes say that is not in history yet: a row for each changed object of each write.

p_swept: history_state.swept. last is the last number of the write: history has writes in this order.
Several notes of one object in one write become one change: what was before the first, what is after the last. An object that is
then the same is no change.
Called by history_step and history_pending. Locks: none. Plan: outbox_pkey from p_swept on.';

--
-- Name: history_class_then(jsonb, text, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_class_then(p_renames jsonb, p_class text, p_index bigint) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
DECLARE
    v_name text := p_class;
    v_rename jsonb;
BEGIN
    FOR v_rename IN SELECT /* history_class_then 1/1 */ item.value FROM jsonb_array_elements(coalesce(p_renames, '[]')) WITH ORDINALITY AS item (value, position)
        ORDER BY item.position
    LOOP
        IF v_rename ->> 'name' = v_name AND (p_index IS NULL OR (v_rename ->> 'index')::bigint < p_index) THEN
            v_name := v_rename ->> 'old';
        END IF;
    END LOOP;
    RETURN v_name;
END
$$;

--
-- Name: FUNCTION history_class_then(p_renames jsonb, p_class text, p_index bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_class_then(p_renames jsonb, p_class text, p_index bigint) IS 'Returns the name that a resource class had at the event of p_renames, which history_renames returns. p_class is its name at the event
p_index, or now, if p_index is null.';

--
-- Name: consumers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.consumers (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    generation bigint NOT NULL,
    project_id bigint NOT NULL,
    user_id bigint NOT NULL,
    consumer_type_id integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone,
    leased boolean DEFAULT false NOT NULL
)
WITH (fillfactor='90', autovacuum_vacuum_scale_factor='0.02');

--
-- Name: TABLE consumers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.consumers IS 'Consumers: instances, migrations and other holders of allocations. A row exists exactly as long as the consumer has allocations.';

--
-- Name: COLUMN consumers.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumers.id IS 'Internal key.';

--
-- Name: COLUMN consumers.uuid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumers.uuid IS 'Key in the API; often the UUID of an instance.';

--
-- Name: COLUMN consumers.generation; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumers.generation IS 'Consumer generation, from 1; a claim with a stale value yields 409.';

--
-- Name: COLUMN consumers.project_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumers.project_id IS 'Project that owns the consumer.';

--
-- Name: COLUMN consumers.user_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumers.user_id IS 'User that owns the consumer.';

--
-- Name: COLUMN consumers.consumer_type_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumers.consumer_type_id IS 'Type of the consumer; the API reports null as "unknown".';

--
-- Name: COLUMN consumers.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumers.created_at IS 'Time of the first claim.';

--
-- Name: COLUMN consumers.updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumers.updated_at IS 'Time of the last claim after the first.';

--
-- Name: COLUMN consumers.leased; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumers.leased IS 'Tells each write of a consumer, which locks its row, whether there is a row in leases: without one, nothing reads that table.';

--
-- Name: history_consumer_object(public.consumers); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_consumer_object(p_consumer public.consumers) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT /* history_consumer_object 1/1 */ jsonb_build_object('consumer_generation', p_consumer.generation,
        'project_id', (SELECT project.external_id FROM projects AS project WHERE project.id = p_consumer.project_id),
        'user_id', (SELECT owner.external_id FROM users AS owner WHERE owner.id = p_consumer.user_id),
        'consumer_type', (SELECT type.name FROM consumer_types AS type WHERE type.id = p_consumer.consumer_type_id))
    WHERE p_consumer.id IS NOT NULL
$$;

--
-- Name: FUNCTION history_consumer_object(p_consumer public.consumers); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_consumer_object(p_consumer public.consumers) IS 'A consumer as notes have it, without allocations and lease; null for null.';

--
-- Name: history_consumers_at(bigint, timestamp with time zone, uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_consumers_at(p_index bigint, p_began timestamp with time zone, p_consumers uuid[]) RETURNS TABLE(consumer uuid, generation bigint, project text, owner text, type text, lease jsonb, created_at timestamp with time zone, updated_at timestamp with time zone, is_node_allocation boolean, node_allocation_name text, provider uuid, provider_name text, root uuid, provider_generation bigint, class text, class_order bigint, used bigint, allocated_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_day date := history_day_of(p_index + 1);
BEGIN
    RETURN QUERY
    WITH /* history_consumers_at 1/1 */ later AS MATERIALIZED (
        SELECT change.consumer, change.index, change.before, change.after FROM history_later(p_index, '{allocation}', NULL, p_consumers) AS change
    ), first AS MATERIALIZED (
        SELECT later.consumer, min(later.index) FILTER (WHERE later.after IS NULL) AS gone
        FROM later GROUP BY later.consumer
    ), attributes AS MATERIALIZED (
        SELECT DISTINCT ON (later.consumer) later.consumer, later.before FROM later
        WHERE later.before ? 'project_id' ORDER BY later.consumer, later.index
    ), leases_then AS MATERIALIZED (  -- A deleted consumer with a lease has it in the change that deleted it.
        SELECT DISTINCT ON (later.consumer) later.consumer, NULLIF(later.before -> 'lease', 'null') AS lease
        FROM later JOIN first USING (consumer)
        WHERE later.before ? 'lease' AND (first.gone IS NULL OR later.index <= first.gone) ORDER BY later.consumer, later.index
    ), state AS MATERIALIZED (
        SELECT key.uuid, present.id,
            CASE WHEN recorded.consumer IS NULL THEN present.generation ELSE (recorded.before ->> 'consumer_generation')::bigint END AS generation,
            CASE WHEN recorded.consumer IS NULL THEN present.project ELSE recorded.before ->> 'project_id' END AS project,
            CASE WHEN recorded.consumer IS NULL THEN present.owner ELSE recorded.before ->> 'user_id' END AS owner,
            CASE WHEN recorded.consumer IS NULL THEN present.type ELSE recorded.before ->> 'consumer_type' END AS type,
            CASE WHEN leased.consumer IS NOT NULL THEN leased.lease WHEN first.gone IS NULL THEN present.lease END AS lease,
            CASE WHEN first.gone IS NULL THEN present.created_at END AS created_at,
            CASE WHEN first.consumer IS NULL THEN present.updated_at END AS updated_at
        FROM unnest(p_consumers) AS key (uuid)
        LEFT JOIN first ON first.consumer = key.uuid
        LEFT JOIN attributes AS recorded ON recorded.consumer = key.uuid
        LEFT JOIN leases_then AS leased ON leased.consumer = key.uuid
        LEFT JOIN LATERAL (
            SELECT one.id, one.generation, one.created_at, coalesce(one.updated_at, one.created_at) AS updated_at,
                (SELECT project.external_id FROM projects AS project WHERE project.id = one.project_id) AS project,
                (SELECT owner.external_id FROM users AS owner WHERE owner.id = one.user_id) AS owner,
                (SELECT kind.name FROM consumer_types AS kind WHERE kind.id = one.consumer_type_id) AS type,
                CASE WHEN one.leased THEN (SELECT lease_show(owned) FROM leases AS owned WHERE owned.consumer_id = one.id) END AS lease
            FROM consumers AS one WHERE one.uuid = key.uuid OFFSET 0
        ) AS present ON true
    ), held AS MATERIALIZED (
        SELECT allocation.* FROM history_allocations_at(p_index, NULL, p_consumers) AS allocation
    ), providers AS MATERIALIZED (
        SELECT place.* FROM history_providers_at(p_index, p_began, ARRAY(SELECT DISTINCT held.provider FROM held)) AS place
    ), node_changes AS MATERIALIZED (
        SELECT one.node, one.index, one.before FROM unnest(p_consumers) AS key (uuid)
        CROSS JOIN LATERAL (
            SELECT change.node, change.index, change.before FROM history AS change
            WHERE change.node = key.uuid AND change.topic = 'node_allocation' AND change.index > p_index AND change.day >= v_day OFFSET 0
        ) AS one
        UNION ALL
        SELECT change.node, change.index, change.before FROM history_pending() AS change
        WHERE change.topic = 'node_allocation' AND change.node = ANY (p_consumers)
    ), node_later AS MATERIALIZED (
        SELECT DISTINCT ON (change.node) change.node, change.before FROM node_changes AS change ORDER BY change.node, change.index
    ), node_allocated AS MATERIALIZED (
        SELECT node_later.node AS uuid, node_later.before ->> 'name' AS name, node_later.before ->> 'node_uuid' AS node
        FROM node_later WHERE node_later.before IS NOT NULL
        UNION ALL
        SELECT present.uuid, present.name, (SELECT node.uuid::text FROM nodes AS node WHERE node.id = present.node_id)
        FROM unnest(p_consumers) AS key (uuid)
        CROSS JOIN LATERAL (
            SELECT one.uuid, one.name, one.node_id FROM node_allocations AS one WHERE one.uuid = key.uuid OFFSET 0
        ) AS present
        WHERE NOT EXISTS (SELECT FROM node_later WHERE node_later.node = key.uuid)
    )
    SELECT state.uuid, state.generation, state.project, state.owner, state.type, state.lease, state.created_at, state.updated_at,
        node_allocated.uuid IS NOT NULL, node_allocated.name,
        held.provider, place.name, place.root, place.generation, held.class, held.class_order, held.used, held.created_at
    FROM state
    JOIN held ON held.consumer = state.uuid
    JOIN providers AS place ON place.uuid = held.provider
    LEFT JOIN node_allocated ON node_allocated.uuid = state.uuid
        AND EXISTS (SELECT FROM held AS of WHERE of.consumer = state.uuid AND of.provider::text = node_allocated.node)
    ORDER BY state.id, state.uuid, held.id, held.provider, held.class_order, held.class;
END
$$;

--
-- Name: FUNCTION history_consumers_at(p_index bigint, p_began timestamp with time zone, p_consumers uuid[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_consumers_at(p_index bigint, p_began timestamp with time zone, p_consumers uuid[]) IS 'Returns the consumers that had something at an event, as they were: a row for each allocation, in the order of consumers and allocations.

p_index: the event; p_began: the time from which the record is complete; p_consumers: each once. created_at is null for a consumer that was
deleted since, updated_at for one that has changed since, allocated_at for an allocation that has changed since. See
history_allocations_at and history_providers_at for the other columns, and the query ConsumerList for those of node allocations.
Called by the query ConsumersAt. Locks: none.
Plan: history_later; consumers_uuid_key, keys of the names; history_node_idx and node_allocations_uuid_key; see these functions.';

--
-- Name: history_day(date, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_day(p_day date, p_first bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO '$user', 'public'
    AS $$
DECLARE
    v_name text := 'history_' || to_char(p_day, 'YYYYMMDD');
BEGIN
    IF EXISTS (SELECT /* history_day 1/2 */ FROM history_days AS known WHERE known.day = p_day) THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE history INCLUDING ALL)', v_name);
    EXECUTE format('ALTER TABLE history ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', v_name, p_day, p_day + 1);
    INSERT /* history_day 2/2 */ INTO history_days (day, first) VALUES (p_day, p_first);
END
$$;

--
-- Name: FUNCTION history_day(p_day date, p_first bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_day(p_day date, p_first bigint) IS 'Makes the partition of history for a day, if there is none. Called by history_step.

p_first: the first index that can be on this day. With the rights of the owner of the schema, because the service cannot create
tables. Locks: history against other changes of its schema; no reader and no writer waits.';

--
-- Name: history_day_of(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_day_of(p_index bigint) RETURNS date
    LANGUAGE sql STABLE
    AS $$
    SELECT /* history_day_of 1/1 */ coalesce(max(known.day), '-infinity') FROM history_days AS known WHERE known.first <= p_index
$$;

--
-- Name: FUNCTION history_day_of(p_index bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_day_of(p_index bigint) IS 'Returns the first day that can have an index or later ones; -infinity: all days. Locks: none. Plan: history_days, a row a day.';

--
-- Name: history_find(boolean, bigint, bigint, bigint, timestamp with time zone, timestamp with time zone, uuid[], text, uuid[], uuid[], uuid, text, text, text, text[], integer, integer, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_find(p_descending boolean, p_from bigint, p_low bigint, p_high bigint, p_since timestamp with time zone, p_until timestamp with time zone, p_consumers uuid[], p_request text, p_providers uuid[], p_nodes uuid[], p_tree uuid, p_name text, p_caller_user text, p_project text, p_topics text[], p_limit integer, p_bound integer, p_rows integer) RETURNS TABLE(place bigint, day date, index bigint, is_next boolean)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $_$
DECLARE
    v_low bigint := greatest(p_low, CASE WHEN NOT p_descending THEN p_from END, 1);
    v_high bigint := least(p_high, CASE WHEN p_descending THEN p_from + 1 END, 9223372036854775807);
    v_first_day date;
    v_last_day date;
    v_root uuid;
    v_named uuid[];
    v_fields text[];
    v_keys text[];
    v_direction text := CASE WHEN p_descending THEN 'DESC' ELSE 'ASC' END;
    v_columns text := 'one.day, one.index, one.at, one.topic, one.provider, one.root, one.consumer, one.node, one.request_id, '
        || 'one.global_request_id, one.project, one.previous_project, one.caller';
    v_looked_at text;
    v_most bigint;
    v_days date[];
    v_indexes bigint[];
    v_next bigint;
BEGIN
    IF p_since IS NOT NULL THEN
        SELECT /* history_find 1/10 */ greatest(v_low, mark.first) INTO v_low
        FROM (SELECT max(known.first) AS first FROM (
            SELECT one.first FROM history_marks AS one WHERE one.at <= p_since ORDER BY one.at DESC LIMIT 1) AS known) AS mark;
    END IF;
    IF p_until IS NOT NULL THEN
        SELECT /* history_find 2/10 */ least(v_high, mark.first) INTO v_high
        FROM (SELECT min(later.first) AS first FROM history_marks AS later WHERE later.first > coalesce((
            SELECT one.first FROM history_marks AS one WHERE one.earliest < p_until ORDER BY one.first DESC LIMIT 1), 0)) AS mark;
    END IF;
    v_first_day := coalesce((SELECT /* history_find 3/10 */ max(known.day) FROM history_days AS known WHERE known.first <= v_low), '-infinity');
    v_last_day := coalesce((SELECT /* history_find 4/10 */ max(known.day) FROM history_days AS known WHERE known.first < v_high), '-infinity');

    IF p_tree IS NOT NULL THEN
        v_root := coalesce((
            SELECT /* history_find 5/10 */ root.uuid FROM resource_providers AS member JOIN resource_providers AS root ON root.id = member.root_id
            WHERE member.uuid = p_tree), p_tree);
    END IF;
    IF p_name IS NOT NULL THEN
        v_named := ARRAY(
            SELECT /* history_find 6/10 */ coalesce(one.node, one.provider) FROM history AS one WHERE one.name = p_name
            UNION SELECT coalesce(one.node, one.provider) FROM history AS one WHERE one.previous_name = p_name
            UNION SELECT one.uuid FROM resource_providers AS one WHERE one.name = p_name
            UNION SELECT one.uuid FROM nodes AS one WHERE one.name = p_name
            UNION SELECT one.uuid FROM node_allocations AS one WHERE one.name = p_name);
    END IF;

    -- The leading filter: a column for each value.
    SELECT /* history_find 7/10 */ array_agg(key.field), array_agg(key.value) INTO v_fields, v_keys
    FROM (
        SELECT 'consumer' AS field, each::text AS value FROM unnest(p_consumers) AS each
        UNION SELECT field, p_request FROM unnest('{request_id,global_request_id}'::text[]) AS field
        WHERE p_consumers IS NULL AND p_request IS NOT NULL
        UNION SELECT 'provider', each::text FROM unnest(p_providers) AS each WHERE num_nonnulls(p_consumers, p_request) = 0
        UNION SELECT field, each::text FROM unnest(p_nodes) AS each, unnest('{provider,node}'::text[]) AS field
        WHERE num_nonnulls(p_consumers, p_request, p_providers) = 0
        UNION SELECT field, v_root::text FROM unnest('{provider,root}'::text[]) AS field
        WHERE v_root IS NOT NULL AND num_nonnulls(p_consumers, p_request, p_providers, p_nodes) = 0
        UNION SELECT field, each::text FROM unnest(v_named) AS each, unnest('{provider,node}'::text[]) AS field
        WHERE num_nonnulls(p_consumers, p_request, p_providers, p_nodes, p_tree) = 0
    ) AS key;
    IF v_fields IS NOT NULL THEN
        SELECT /* history_find 8/10 */ string_agg(format(
            'SELECT key.number, change.* FROM unnest($1, $2) WITH ORDINALITY AS key (field, value, number) CROSS JOIN LATERAL ('
            'SELECT %1$s FROM history AS one WHERE one.%2$I = key.value::%3$s AND one.index >= $3 AND one.index < $4 '
            'AND one.day BETWEEN $5 AND $6 ORDER BY one.index %4$s FETCH FIRST ($7) ROWS WITH TIES) AS change WHERE key.field = %2$L',
            v_columns, each.field, CASE WHEN each.field LIKE '%request_id' THEN 'text' ELSE 'uuid' END, v_direction), ' UNION ALL ')
        INTO v_looked_at FROM (SELECT DISTINCT unnest(v_fields) AS field) AS each;
    ELSIF num_nonnulls(p_consumers, p_providers, p_nodes, p_name) > 0 THEN
        RETURN; -- no value of the leading filter
    ELSE
        v_looked_at := format('SELECT 1 AS number, change.* FROM (SELECT %1$s FROM history AS one WHERE one.index >= $3 AND one.index < $4 '
            'AND one.day BETWEEN $5 AND $6 ORDER BY one.day %2$s, one.index %2$s FETCH FIRST ($7) ROWS WITH TIES) AS change',
            v_columns, v_direction);
    END IF;
    v_most := greatest(p_bound / coalesce(cardinality(v_keys), 1), 10);

    EXECUTE format(
        'WITH looked_at AS MATERIALIZED (%1$s), horizon AS MATERIALIZED ('
        'SELECT %2$s(last.index) AS index FROM (SELECT %3$s(looked_at.index) AS index FROM looked_at GROUP BY looked_at.number '
        'HAVING count(*) >= $7) AS last), '
        'found AS (SELECT DISTINCT change.day, change.index FROM looked_at AS change, horizon '
        'WHERE (horizon.index IS NULL OR CASE WHEN $8 THEN change.index >= horizon.index ELSE change.index <= horizon.index END) '
        'AND ($9 IS NULL OR change.consumer = ANY ($9)) AND ($10 IS NULL OR $10 IN (change.request_id, change.global_request_id)) '
        'AND ($11 IS NULL OR change.provider = ANY ($11)) AND ($12 IS NULL OR change.provider = ANY ($12) OR change.node = ANY ($12)) '
        'AND ($13 IS NULL OR $13 IN (change.provider, change.root)) '
        'AND ($14 IS NULL OR change.provider = ANY ($14) OR change.node = ANY ($14)) '
        'AND ($15 IS NULL OR change.caller ->> ''user_id'' = $15) AND ($16 IS NULL OR $16 IN (change.project, change.previous_project)) '
        'AND ($17 IS NULL OR change.topic = ANY ($17)) AND ($18 IS NULL OR change.at >= $18) AND ($19 IS NULL OR change.at < $19) '
        'ORDER BY change.index %4$s LIMIT $20), '
        'sized AS (SELECT found.day, found.index, row_number() OVER (ORDER BY found.index %4$s) AS position, '
        'sum(size.changes) OVER (ORDER BY found.index %4$s) - size.changes AS before '
        'FROM found CROSS JOIN LATERAL (SELECT max(one.place) AS changes FROM history AS one '
        'WHERE one.day = found.day AND one.index = found.index) AS size), '
        'cut AS (SELECT sized.index FROM sized WHERE sized.position = $20 OR sized.before >= $21 ORDER BY sized.position LIMIT 1) '
        'SELECT array_agg(sized.day ORDER BY sized.position), array_agg(sized.index ORDER BY sized.position), coalesce((SELECT cut.index FROM cut), (SELECT horizon.index + CASE WHEN $8 THEN -1 ELSE 1 END FROM horizon)) '
        'FROM sized WHERE sized.position < $20 AND sized.before < $21',
        v_looked_at, CASE WHEN p_descending THEN 'max' ELSE 'min' END, CASE WHEN p_descending THEN 'min' ELSE 'max' END, v_direction)
    INTO v_days, v_indexes, v_next
    USING v_fields, v_keys, v_low, v_high, v_first_day, v_last_day, v_most, p_descending, p_consumers, p_request, p_providers, p_nodes,
        v_root, v_named, p_caller_user, p_project, p_topics, p_since, p_until, p_limit + 1, p_rows;

    RETURN QUERY
    SELECT /* history_find 9/10 */ listed.place, listed.day, listed.index, false FROM unnest(v_days, v_indexes) WITH ORDINALITY AS listed (day, index, place);
    IF v_next BETWEEN v_low AND v_high - 1 THEN
        RETURN QUERY SELECT /* history_find 10/10 */ coalesce(cardinality(v_days), 0) + 1::bigint, NULL::date, v_next, true;
    END IF;
END
$_$;

--
-- Name: FUNCTION history_find(p_descending boolean, p_from bigint, p_low bigint, p_high bigint, p_since timestamp with time zone, p_until timestamp with time zone, p_consumers uuid[], p_request text, p_providers uuid[], p_nodes uuid[], p_tree uuid, p_name text, p_caller_user text, p_project text, p_topics text[], p_limit integer, p_bound integer, p_rows integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_find(p_descending boolean, p_from bigint, p_low bigint, p_high bigint, p_since timestamp with time zone, p_until timestamp with time zone, p_consumers uuid[], p_request text, p_providers uuid[], p_nodes uuid[], p_tree uuid, p_name text, p_caller_user text, p_project text, p_topics text[], p_limit integer, p_bound integer, p_rows integer) IS 'Returns the events of a page for GET /history, by place, and behind them where the next page begins.

An event is listed if one of its changes passes all filters. Filters that are null pass all.
p_from: the index at which the page begins; null: the newest, or with p_descending false the oldest. p_low and p_high are bounds of
indexes, p_since and p_until of times; the second ones are exclusive. The row with is_next has in index the event with which the next page begins.

The filter with the best index leads: consumers, request, providers, nodes, a tree or a name; otherwise the events themselves, in
their order. Of each value of that filter it looks at p_bound divided by the number of values, and at the rest of the last event;
the page ends at the first place up to which this has found everything. So it can be short or empty and not be the last.
It ends also after p_rows changes, and has at least one event.

The only dynamic statement names the columns of the leading filter and the direction. Each call plans its statements with its values:
partitions outside of the days from p_low to p_high are not opened.
Called by the query HistoryList. Locks nothing. Plan: history_consumer_idx, history_provider_idx, history_root_idx, history_node_idx,
history_request_id_idx or history_global_request_id_idx for each value, or history_index_idx; history_index_idx for the size of each event.';

--
-- Name: history_import(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_import() RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_before history_state;
    v_log uuid := gen_random_uuid();
BEGIN
    IF (SELECT /* history_import 1/6 */ state.state FROM history_state AS state) = 'off' THEN
        RETURN false;
    END IF;
    PERFORM /* history_import 2/6 */ history_step(true);
    SELECT /* history_import 3/6 */ * INTO v_before FROM history_state FOR UPDATE;
    IF v_before.state = 'off' THEN
        RETURN false;
    END IF;
    INSERT /* history_import 4/6 */ INTO outbox (topic, caller, before, after)
    VALUES ('history', jsonb_build_object('process', 'berth import'),
        jsonb_build_object('state', v_before.state, 'log', v_before.log), jsonb_build_object('state', 'off', 'log', v_log));
    PERFORM /* history_import 5/6 */ history_step(true);
    UPDATE /* history_import 6/6 */ history_state SET state = 'off', log = v_log, since = NULL, triggers_at = NULL, generation = generation + 1;
    RETURN true;
END
$$;

--
-- Name: FUNCTION history_import(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_import() IS 'Turns the record off for an import, which records nothing of its rows. An event says so, and a new log begins: events from before
say nothing about the imported rows. Afterwards the caller calls history_switch until it returns false. Returns whether the record was on.

Called by the query ImportHistoryEnd. Locks: history_state, and the advisory lock of steps. Calls: history_step.';

--
-- Name: history_index_at(timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_index_at(p_time timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_low bigint := coalesce((SELECT /* history_index_at 1/2 */ one.first FROM history_marks AS one WHERE one.at <= p_time ORDER BY one.at DESC LIMIT 1), 1);
    v_day date := history_day_of(v_low);
BEGIN
    RETURN coalesce(
        (SELECT /* history_index_at 2/2 */ one.index - 1 FROM history AS one WHERE one.day >= v_day AND one.index >= v_low AND one.at > p_time
            ORDER BY one.day, one.index LIMIT 1),
        (SELECT state.newest FROM history_state AS state));
END
$$;

--
-- Name: FUNCTION history_index_at(p_time timestamp with time zone); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_index_at(p_time timestamp with time zone) IS 'Returns the index of the event before the first one whose time is later than p_time: the newest one if none is later.

Times do not rise with the indexes, but all events below a mark have earlier times than it. Called by history_moment.
Locks: none. Plan: history_marks_at_idx, then history_index_idx from the mark on: about a minute or 5,000 events.';

--
-- Name: history_inventories_at(bigint, uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_inventories_at(p_index bigint, p_providers uuid[]) RETURNS TABLE(provider uuid, class text, class_order bigint, record jsonb)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_renames jsonb := history_renames(p_index);
BEGIN
    RETURN QUERY
    WITH /* history_inventories_at 1/1 */ later AS MATERIALIZED (
        SELECT DISTINCT ON (change.provider, named.class) change.provider, named.class, change.before
        FROM history_later(p_index, '{inventory}', p_providers, NULL) AS change
        CROSS JOIN LATERAL (SELECT history_class_then(v_renames, change.class, change.index) AS class OFFSET 0) AS named
        ORDER BY change.provider, named.class, change.index
    ), present AS (
        SELECT key.uuid AS provider, history_class_then(v_renames, held.name, NULL) AS class, held.record
        FROM unnest(p_providers) AS key (uuid)
        CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.uuid = key.uuid OFFSET 0) AS existing
        CROSS JOIN LATERAL (
            SELECT (SELECT known.name FROM resource_classes AS known WHERE known.id = one.class_id) AS name, history_inventory_object(one) AS record
            FROM inventories AS one WHERE one.provider_id = existing.id OFFSET 0
        ) AS held
    )
    SELECT listed.provider, listed.class, coalesce((SELECT known.id FROM resource_classes AS known WHERE known.name = listed.class), 2147483647)::bigint,
        listed.record
    FROM (
        SELECT later.provider, later.class, later.before AS record FROM later WHERE later.before IS NOT NULL
        UNION ALL
        SELECT present.provider, present.class, present.record FROM present
        WHERE NOT EXISTS (SELECT FROM later WHERE later.provider = present.provider AND later.class = present.class)
    ) AS listed;
END
$$;

--
-- Name: FUNCTION history_inventories_at(p_index bigint, p_providers uuid[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_inventories_at(p_index bigint, p_providers uuid[]) IS 'Returns the inventories that providers had at an event, without usages. p_providers: providers that existed then, each once.

class is the name that the class had then; class_order sorts as class ids do. record has the members of history_inventory_object.
Called by tree_show_at. Locks: none. Plan: history_later; resource_providers_uuid_key, inventories_pkey, keys of the names.';

--
-- Name: inventories; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.inventories (
    provider_id bigint NOT NULL,
    class_id integer NOT NULL,
    root_id bigint NOT NULL,
    total public.positive_int NOT NULL,
    reserved public.natural_int NOT NULL,
    min_unit public.positive_int NOT NULL,
    max_unit public.positive_int NOT NULL,
    step_size public.positive_int NOT NULL,
    allocation_ratio double precision NOT NULL,
    used bigint DEFAULT 0 NOT NULL,
    free bigint GENERATED ALWAYS AS ((GREATEST(LEAST((max_unit)::double precision, (trunc(((((total)::integer - (reserved)::integer))::double precision * allocation_ratio)) - (used)::double precision)), ('-9007199254740992'::bigint)::double precision))::bigint) STORED NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone,
    CONSTRAINT inventories_used_check CHECK ((used >= 0))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0');

--
-- Name: TABLE inventories; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.inventories IS 'Inventories: how much of a resource class a provider has. A claim succeeds if used + amount <= (total - reserved) * allocation_ratio. Every claim updates used, so autovacuum starts at 2 % dead rows and without a delay.';

--
-- Name: COLUMN inventories.provider_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.provider_id IS 'Provider that has the inventory.';

--
-- Name: COLUMN inventories.class_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.class_id IS 'Resource class.';

--
-- Name: COLUMN inventories.root_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.root_id IS 'Copy of the provider''s root_id: the inventories of a tree in one index range.';

--
-- Name: COLUMN inventories.total; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.total IS 'Total amount of the resource class on this provider.';

--
-- Name: COLUMN inventories.reserved; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.reserved IS 'Amount that consumers cannot allocate.';

--
-- Name: COLUMN inventories.min_unit; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.min_unit IS 'Smallest amount of one allocation.';

--
-- Name: COLUMN inventories.max_unit; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.max_unit IS 'Largest amount of one allocation.';

--
-- Name: COLUMN inventories.step_size; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.step_size IS 'Amounts of allocations are multiples of it.';

--
-- Name: COLUMN inventories.allocation_ratio; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.allocation_ratio IS 'Overcommit factor: capacity = (total - reserved) * allocation_ratio.';

--
-- Name: COLUMN inventories.used; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.used IS 'Sum of allocations.used for this provider and class, maintained by the functions that write allocations. It may exceed the capacity, because totals can be lowered under running workloads.';

--
-- Name: COLUMN inventories.free; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.free IS 'Largest amount that one claim can still allocate, before min_unit and step_size. Valid ratios reach 3.4e38, so the product is clamped before the cast; capacity truncates toward zero, as the API reports it.';

--
-- Name: COLUMN inventories.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.created_at IS 'Time of creation.';

--
-- Name: COLUMN inventories.updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.inventories.updated_at IS 'Time of the last write of the inventory through the API; claims do not count.';

--
-- Name: history_inventory_object(public.inventories); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_inventory_object(p_inventory public.inventories) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT /* history_inventory_object 1/1 */ jsonb_build_object('total', p_inventory.total, 'reserved', p_inventory.reserved, 'min_unit', p_inventory.min_unit,
        'max_unit', p_inventory.max_unit, 'step_size', p_inventory.step_size, 'allocation_ratio', p_inventory.allocation_ratio)
    WHERE p_inventory.provider_id IS NOT NULL
$$;

--
-- Name: FUNCTION history_inventory_object(p_inventory public.inventories); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_inventory_object(p_inventory public.inventories) IS 'An inventory as notes have it: the members that clients write; null for null.';

--
-- Name: history_is_switched(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_is_switched() RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT /* history_is_switched 1/1 */ NOT EXISTS (
        SELECT FROM pg_trigger AS found
        WHERE starts_with(found.tgname::text, 'history_') AND (found.tgenabled = 'D') <> (SELECT state.state = 'off' FROM history_state AS state)
          AND (SELECT of.relnamespace FROM pg_class AS of WHERE of.oid = found.tgrelid)
            = (SELECT own.relnamespace FROM pg_class AS own WHERE own.oid = 'outbox'::regclass))
$$;

--
-- Name: FUNCTION history_is_switched(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_is_switched() IS 'Returns whether the triggers of all tables are enabled or disabled as the state of the record says: history_switch has nothing to do.
Called by HistoryState, every second by each server. Locks: none. Plan: one scan of pg_trigger, 120 rows: 0.2 ms (EXPLAIN ANALYZE).';

--
-- Name: history_later(bigint, text[], uuid[], uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_later(p_index bigint, p_topics text[], p_providers uuid[], p_consumers uuid[]) RETURNS TABLE(index bigint, topic text, provider uuid, consumer uuid, class text, before jsonb, after jsonb)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_day date := history_day_of(p_index + 1);
BEGIN
    IF p_providers IS NOT NULL THEN
        RETURN QUERY SELECT /* history_later 1/3 */ change.* FROM unnest(p_providers) AS key (uuid)
        CROSS JOIN LATERAL (
            SELECT one.index, one.topic, one.provider, one.consumer, one.class, one.before, one.after FROM history AS one
            WHERE one.provider = key.uuid AND one.topic = ANY (p_topics) AND one.index > p_index AND one.day >= v_day OFFSET 0
        ) AS change;
    ELSE
        RETURN QUERY SELECT /* history_later 2/3 */ change.* FROM unnest(p_consumers) AS key (uuid)
        CROSS JOIN LATERAL (
            SELECT one.index, one.topic, one.provider, one.consumer, one.class, one.before, one.after FROM history AS one
            WHERE one.consumer = key.uuid AND one.topic = ANY (p_topics) AND one.index > p_index AND one.day >= v_day OFFSET 0
        ) AS change;
    END IF;
    RETURN QUERY
    SELECT /* history_later 3/3 */ change.index, change.topic, change.provider, change.consumer, change.class, change.before, change.after
    FROM history_pending() AS change
    WHERE change.topic = ANY (p_topics) AND (change.provider = ANY (p_providers) OR change.consumer = ANY (p_consumers));
END
$$;

--
-- Name: FUNCTION history_later(p_index bigint, p_topics text[], p_providers uuid[], p_consumers uuid[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_later(p_index bigint, p_topics text[], p_providers uuid[], p_consumers uuid[]) IS 'Returns the changes after an event, in any order: of providers, or of consumers, with one of the topics.

p_index: the event; p_providers or p_consumers is null. Notes that are not in order yet count as later than all events: they are read in
the same snapshot, with indexes above all others, so what a caller reads beside them from other tables has exactly these changes.
Called by the functions that return how it was. Each call plans its statement with its values: days before the event are not opened.
Locks: none. Plan: history_provider_topic_idx, for allocations history_provider_idx, or history_consumer_idx for each UUID; history_pending.';

--
-- Name: history_moment(timestamp with time zone, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_moment(p_time timestamp with time zone, p_index bigint) RETURNS TABLE(state text, newest bigint, is_future boolean, is_gone boolean, began_at timestamp with time zone, first bigint, index bigint, at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_state history_state;
    v_oldest history_days;
    v_began timestamptz;
    v_first bigint;
    v_index bigint := p_index;
    v_at timestamptz;
    v_gone bool;
    v_day date;
BEGIN
    SELECT /* history_moment 1/4 */ * INTO v_state FROM history_state;
    SELECT /* history_moment 2/4 */ * INTO v_oldest FROM history_days AS known ORDER BY known.day LIMIT 1;
    v_began := v_state.since;
    IF v_oldest.first > 1 AND v_oldest.began_at > v_began THEN
        v_began := v_oldest.began_at;
    END IF;
    IF v_began IS NOT NULL AND coalesce(p_index <= v_state.newest, p_time <= clock_timestamp()) THEN
        IF p_time >= v_began THEN
            v_index := history_index_at(p_time);
        END IF;
        v_day := history_day_of(v_index);
        SELECT /* history_moment 3/4 */ one.at INTO v_at FROM history AS one WHERE one.day = v_day AND one.index = v_index LIMIT 1;
        v_gone := p_time < v_began;
        IF p_time IS NULL AND (v_at IS NULL OR v_at <= v_began) OR v_gone THEN
            v_first := greatest(history_index_at(v_began) + 1, v_oldest.first);
            v_gone := v_gone OR p_index < v_first - 1;
        END IF;
    END IF;
    RETURN QUERY SELECT /* history_moment 4/4 */ v_state.state, v_state.newest, coalesce(p_time > clock_timestamp(), false), coalesce(v_gone, false),
        v_began, CASE WHEN v_gone THEN v_first END, v_index, coalesce(v_at, v_began);
END
$$;

--
-- Name: FUNCTION history_moment(p_time timestamp with time zone, p_index bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_moment(p_time timestamp with time zone, p_index bigint) IS 'Returns the event of a time or an index: the newest one that counts at that moment; and what says whether the record has it.

p_time or p_index is null. is_future: the time has not come. began_at is the time from which the record is complete, null unless it is
on; is_gone: the moment is before it, and first is the first index that counts then, else null. at is the time of the event, or began_at
if the event is not kept.
Called by the query HistoryMoment. Locks: none. Plan: history_state, history_days; history_index_idx for one event; see history_index_at.';

--
-- Name: node_allocations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.node_allocations (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    name text COLLATE pg_catalog."C",
    node_id bigint,
    state text DEFAULT 'allocating'::text NOT NULL COLLATE pg_catalog."C",
    resource_class text NOT NULL COLLATE pg_catalog."C",
    traits text[] DEFAULT '{}'::text[] NOT NULL,
    candidate_nodes uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    extra jsonb DEFAULT '{}'::jsonb NOT NULL,
    owner text COLLATE pg_catalog."C",
    last_error text,
    extended boolean DEFAULT false NOT NULL,
    sticky boolean DEFAULT false NOT NULL,
    batch_uuid uuid,
    batch_minimum integer,
    conductor_id integer,
    revision bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone,
    CONSTRAINT node_allocations_node_check CHECK (((state = 'active'::text) = (node_id IS NOT NULL))),
    CONSTRAINT node_allocations_state_check CHECK ((state = ANY (ARRAY['allocating'::text, 'active'::text, 'error'::text])))
)
WITH (fillfactor='80');

--
-- Name: TABLE node_allocations; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.node_allocations IS 'Node allocations: requests for a node by class and traits, and their results (/v1/allocations).';

--
-- Name: COLUMN node_allocations.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.id IS 'Internal key.';

--
-- Name: COLUMN node_allocations.uuid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.uuid IS 'Key in the API; also the instance_uuid of the node.';

--
-- Name: COLUMN node_allocations.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.name IS 'Unique name, if the node allocation has one.';

--
-- Name: COLUMN node_allocations.node_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.node_id IS 'Assigned node; null unless the state is active.';

--
-- Name: COLUMN node_allocations.state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.state IS 'State: allocating, active or error.';

--
-- Name: COLUMN node_allocations.resource_class; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.resource_class IS 'Resource class that the node must have.';

--
-- Name: COLUMN node_allocations.traits; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.traits IS 'Traits that the node must have.';

--
-- Name: COLUMN node_allocations.candidate_nodes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.candidate_nodes IS 'Nodes to choose from; empty: all.';

--
-- Name: COLUMN node_allocations.extra; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.extra IS 'Metadata of the client.';

--
-- Name: COLUMN node_allocations.owner; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.owner IS 'Project that owns the node allocation.';

--
-- Name: COLUMN node_allocations.last_error; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.last_error IS 'Reason why no node was assigned.';

--
-- Name: COLUMN node_allocations.extended; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.extended IS 'Whether the client used Berth''s extensions: its error then contains numbers, and a request that waits for the result is notified.';

--
-- Name: COLUMN node_allocations.sticky; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.sticky IS 'Whether the node keeps the node allocation when it is undeployed.';

--
-- Name: COLUMN node_allocations.batch_uuid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.batch_uuid IS 'Batch that the node allocation belongs to. A conductor processes a batch as one: at least batch_minimum of its node allocations get a node, or none does.';

--
-- Name: COLUMN node_allocations.batch_minimum; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.batch_minimum IS 'Minimum of node allocations in the batch that must get a node.';

--
-- Name: COLUMN node_allocations.conductor_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.conductor_id IS 'Conductor that processes it; null once the result is known.';

--
-- Name: COLUMN node_allocations.revision; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.revision IS 'Incremented by every change, as that of nodes.';

--
-- Name: COLUMN node_allocations.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.created_at IS 'Time of creation.';

--
-- Name: COLUMN node_allocations.updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_allocations.updated_at IS 'Time of the last change; null before the first.';

--
-- Name: history_node_allocation_object(public.node_allocations); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_node_allocation_object(p_allocation public.node_allocations) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT /* history_node_allocation_object 1/1 */ jsonb_build_object('name', p_allocation.name, 'state', p_allocation.state,
        'node_uuid', coalesce((SELECT to_jsonb(node.uuid) FROM nodes AS node WHERE node.id = p_allocation.node_id),
            to_jsonb(p_allocation.node_id)),
        'resource_class', p_allocation.resource_class, 'traits', p_allocation.traits, 'candidate_nodes', p_allocation.candidate_nodes,
        'extra', p_allocation.extra, 'owner', p_allocation.owner, 'last_error', p_allocation.last_error)
    WHERE p_allocation.id IS NOT NULL
$$;

--
-- Name: FUNCTION history_node_allocation_object(p_allocation public.node_allocations); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_node_allocation_object(p_allocation public.node_allocations) IS 'A node allocation as notes have it; null for null. A node without a row has its id in place of its UUID.';

--
-- Name: nodes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.nodes (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    name text COLLATE pg_catalog."C",
    driver text NOT NULL COLLATE pg_catalog."C",
    resource_class text COLLATE pg_catalog."C",
    provision_state text NOT NULL COLLATE pg_catalog."C",
    target_provision_state text COLLATE pg_catalog."C",
    provision_updated_at timestamp with time zone,
    power_state text COLLATE pg_catalog."C",
    target_power_state text COLLATE pg_catalog."C",
    maintenance boolean DEFAULT false NOT NULL,
    maintenance_reason text,
    fault text,
    instance_uuid uuid,
    owner text COLLATE pg_catalog."C",
    lessee text COLLATE pg_catalog."C",
    protected boolean DEFAULT false NOT NULL,
    retired boolean DEFAULT false NOT NULL,
    conductor_group text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    last_error text,
    conductor_id integer,
    revision bigint DEFAULT 0 NOT NULL,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone
)
WITH (fillfactor='80');

--
-- Name: TABLE nodes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.nodes IS 'Nodes: machines managed through the Bare Metal API.';

--
-- Name: COLUMN nodes.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.id IS 'Internal key.';

--
-- Name: COLUMN nodes.uuid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.uuid IS 'Key in the API.';

--
-- Name: COLUMN nodes.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.name IS 'Unique name, if the node has one.';

--
-- Name: COLUMN nodes.driver; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.driver IS 'Driver that manages the node.';

--
-- Name: COLUMN nodes.resource_class; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.resource_class IS 'Resource class that node allocations request.';

--
-- Name: COLUMN nodes.provision_state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.provision_state IS 'Provision state, always by its name. Clients below 1.2 see "available" as null.';

--
-- Name: COLUMN nodes.target_provision_state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.target_provision_state IS 'State that a running transition leads to; null without one.';

--
-- Name: COLUMN nodes.provision_updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.provision_updated_at IS 'Time of the last change of provision_state.';

--
-- Name: COLUMN nodes.power_state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.power_state IS 'Last known power state; null before it was first read.';

--
-- Name: COLUMN nodes.target_power_state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.target_power_state IS 'Power state that a running change leads to; null without one.';

--
-- Name: COLUMN nodes.maintenance; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.maintenance IS 'Whether the node is in maintenance.';

--
-- Name: COLUMN nodes.maintenance_reason; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.maintenance_reason IS 'Reason that the operator gave for the maintenance.';

--
-- Name: COLUMN nodes.fault; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.fault IS 'Fault that put the node into maintenance.';

--
-- Name: COLUMN nodes.instance_uuid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.instance_uuid IS 'Instance or node allocation that the node is assigned to.';

--
-- Name: COLUMN nodes.owner; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.owner IS 'Project that owns the node.';

--
-- Name: COLUMN nodes.lessee; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.lessee IS 'Project that leases the node.';

--
-- Name: COLUMN nodes.protected; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.protected IS 'Whether the node must not be undeployed or deleted.';

--
-- Name: COLUMN nodes.retired; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.retired IS 'Whether the node must not become available again.';

--
-- Name: COLUMN nodes.conductor_group; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.conductor_group IS 'Group of conductors that may manage the node.';

--
-- Name: COLUMN nodes.last_error; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.last_error IS 'Error of the last transition that failed.';

--
-- Name: COLUMN nodes.conductor_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.conductor_id IS 'Reservation: the conductor that works on the node; null if none does.';

--
-- Name: COLUMN nodes.revision; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.revision IS 'Incremented by every change. An update sends the revision that it read and fails if it is another.';

--
-- Name: COLUMN nodes.details; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.details IS 'Members that no rule reads, by their names in the API: properties, driver_info, extra, interfaces.';

--
-- Name: COLUMN nodes.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.created_at IS 'Time of creation.';

--
-- Name: COLUMN nodes.updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.nodes.updated_at IS 'Time of the last change; null before the first.';

--
-- Name: history_node_object(public.nodes); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_node_object(p_node public.nodes) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT /* history_node_object 1/1 */ jsonb_build_object('name', p_node.name, 'driver', p_node.driver, 'resource_class', p_node.resource_class,
        'provision_state', p_node.provision_state, 'target_provision_state', p_node.target_provision_state,
        'power_state', p_node.power_state, 'target_power_state', p_node.target_power_state,
        'maintenance', p_node.maintenance, 'maintenance_reason', p_node.maintenance_reason, 'fault', p_node.fault,
        'instance_uuid', p_node.instance_uuid, 'owner', p_node.owner, 'lessee', p_node.lessee, 'protected', p_node.protected,
        'retired', p_node.retired, 'conductor_group', p_node.conductor_group, 'last_error', p_node.last_error,
        'properties', coalesce(p_node.details -> 'properties', '{}'), 'extra', coalesce(p_node.details -> 'extra', '{}'))
    WHERE p_node.id IS NOT NULL
$$;

--
-- Name: FUNCTION history_node_object(p_node public.nodes); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_node_object(p_node public.nodes) IS 'A node as notes have it: columns by the names of their members, properties and extra; null for null. Secrets are not in it.';

--
-- Name: history_note_allocation(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_allocation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_old allocations := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new allocations := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
BEGIN
    INSERT /* history_note_allocation 1/1 */ INTO outbox (topic, provider_id, provider, consumer_id, consumer, class, before, after)
    SELECT 'allocation', item.provider_id,
        (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = item.provider_id),
        item.consumer_id, (SELECT consumer.uuid FROM consumers AS consumer WHERE consumer.id = item.consumer_id),
        (SELECT class.name FROM resource_classes AS class WHERE class.id = item.class_id), to_jsonb(max(item.before)), to_jsonb(max(item.after))
    FROM (
        SELECT v_old.consumer_id, v_old.provider_id, v_old.class_id, v_old.used AS before, NULL::bigint AS after
        UNION ALL SELECT v_new.consumer_id, v_new.provider_id, v_new.class_id, NULL, v_new.used
    ) AS item
    WHERE item.consumer_id IS NOT NULL
    GROUP BY item.consumer_id, item.provider_id, item.class_id;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_allocation(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_allocation() IS 'Trigger: notes a created, changed or deleted allocation. Functions that claim for new consumers note those themselves.

An allocation that moves to another consumer or provider is one that is gone and one that is new.
Runs at the commit. Locks: nothing more.';

--
-- Name: history_note_consumer(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_consumer() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_old consumers := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new consumers := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
BEGIN
    INSERT /* history_note_consumer 1/1 */ INTO outbox (topic, consumer_id, consumer, before, after)
    VALUES ('consumer', coalesce(v_new.id, v_old.id), coalesce(v_new.uuid, v_old.uuid),
        history_consumer_object(v_old), history_consumer_object(v_new));
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_consumer(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_consumer() IS 'Trigger: notes a created, changed or deleted consumer, without its allocations and its lease. Functions that claim for new
consumers note those themselves.

Runs at the commit. Locks: nothing more.';

--
-- Name: history_note_generation(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_generation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT /* history_note_generation 1/1 */ INTO outbox (topic, provider_id, provider, generation)
    VALUES ('generation', NEW.provider_id,
        (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = NEW.provider_id), NEW.generation);
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_generation(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_generation() IS 'Trigger: notes the new generation of a provider. It is no change of its own: history_step adds it to the changes of the same
write.

Runs at the commit. Locks: nothing more.';

--
-- Name: history_note_inventory(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_inventory() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_old inventories := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new inventories := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
BEGIN
    INSERT /* history_note_inventory 1/1 */ INTO outbox (topic, provider_id, provider, class, before, after)
    SELECT 'inventory', inventory.provider_id,
        (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = inventory.provider_id),
        (SELECT class.name FROM resource_classes AS class WHERE class.id = inventory.class_id),
        history_inventory_object(v_old), history_inventory_object(v_new)
    FROM (
        SELECT coalesce(v_new.provider_id, v_old.provider_id) AS provider_id, coalesce(v_new.class_id, v_old.class_id) AS class_id
    ) AS inventory;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_inventory(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_inventory() IS 'Trigger: notes a created, changed or deleted inventory. Claims change used alone, and do not get here.

Runs at the commit. Locks: nothing more.';

--
-- Name: history_note_lease(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_lease() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_old leases := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new leases := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
    v_consumer bigint := coalesce(v_new.consumer_id, v_old.consumer_id);
BEGIN
    INSERT /* history_note_lease 1/1 */ INTO outbox (topic, consumer_id, consumer, before, after)
    VALUES ('lease', v_consumer, (SELECT consumer.uuid FROM consumers AS consumer WHERE consumer.id = v_consumer),
        CASE WHEN v_old.consumer_id IS NOT NULL THEN lease_show(v_old) END,
        CASE WHEN v_new.consumer_id IS NOT NULL THEN lease_show(v_new) END);
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_lease(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_lease() IS 'Trigger: notes a lease that a consumer got, that has changed, or that it lost. A renewal that keeps its length does not get here.

Runs at the commit. Locks: nothing more.';

--
-- Name: history_note_name(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_name() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_topic text := CASE TG_TABLE_NAME WHEN 'traits' THEN 'trait_name' ELSE 'class_name' END;
BEGIN
    INSERT /* history_note_name 1/1 */ INTO outbox (topic, class, before, after)
    SELECT v_topic, CASE WHEN TG_OP = 'DELETE' THEN OLD.name ELSE NEW.name END,
        CASE TG_OP WHEN 'UPDATE' THEN jsonb_build_object('name', OLD.name) WHEN 'DELETE' THEN '{}' END,
        CASE WHEN TG_OP <> 'DELETE' THEN '{}'::jsonb END;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_name(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_name() IS 'Trigger: notes a created, renamed or deleted resource class, and a created or deleted trait.

Runs at the commit. A renamed class has its old name in before: inventories and allocations of it have the new name from then on,
and no notes of their own. Locks: nothing more.';

--
-- Name: history_note_node(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_node() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_old nodes := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new nodes := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
    v_before jsonb := history_node_object(v_old);
    v_after jsonb := history_node_object(v_new);
    v_hidden text[];
BEGIN
    IF TG_OP = 'UPDATE' THEN
        v_hidden := ARRAY(
            SELECT /* history_note_node 1/2 */ member.name FROM unnest('{driver_info,driver_internal_info,instance_info}'::text[]) AS member (name)
            WHERE v_old.details -> member.name IS DISTINCT FROM v_new.details -> member.name);
        IF cardinality(v_hidden) > 0 THEN
            v_after := v_after || jsonb_build_object('hidden', v_hidden);
        END IF;
    END IF;
    IF v_before IS DISTINCT FROM v_after THEN
        INSERT /* history_note_node 2/2 */ INTO outbox (topic, node_id, node, before, after)
        VALUES ('node', coalesce(v_new.id, v_old.id), coalesce(v_new.uuid, v_old.uuid), v_before, v_after);
    END IF;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_node(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_node() IS 'Trigger: notes a created, changed or deleted node.

Runs at the commit. driver_info, instance_info and driver_internal_info can have passwords: of them it notes only that they have
changed. Changes that no client sees (reservations, times) are no changes. Locks: nothing more.';

--
-- Name: history_note_node_allocation(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_node_allocation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_old node_allocations := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new node_allocations := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
    v_before jsonb := history_node_allocation_object(v_old);
    v_after jsonb := history_node_allocation_object(v_new);
BEGIN
    IF v_before IS DISTINCT FROM v_after THEN
        INSERT /* history_note_node_allocation 1/1 */ INTO outbox (topic, node, before, after)
        VALUES ('node_allocation', coalesce(v_new.uuid, v_old.uuid), v_before, v_after);
    END IF;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_node_allocation(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_node_allocation() IS 'Trigger: notes a created, changed or deleted node allocation. Changes that no client sees are no changes.

Runs at the commit. Locks: nothing more.';

--
-- Name: history_note_node_trait(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_node_trait() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_old node_traits := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new node_traits := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
    v_node bigint := coalesce(v_new.node_id, v_old.node_id);
BEGIN
    INSERT /* history_note_node_trait 1/1 */ INTO outbox (topic, node_id, node, class, before, after)
    VALUES ('node_trait', v_node, (SELECT node.uuid FROM nodes AS node WHERE node.id = v_node), coalesce(v_new.trait, v_old.trait),
        CASE WHEN v_old.node_id IS NOT NULL THEN '{}'::jsonb END, CASE WHEN v_new.node_id IS NOT NULL THEN '{}'::jsonb END);
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_node_trait(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_node_trait() IS 'Trigger: notes a trait that a node got or lost.

Runs at the commit. Locks: nothing more.';

--
-- Name: history_note_provider(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_note_provider() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_old resource_providers := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new resource_providers := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
BEGIN
    INSERT /* history_note_provider 1/1 */ INTO outbox (topic, provider_id, provider, before, after)
    SELECT note.topic, coalesce(v_new.id, v_old.id), coalesce(v_new.uuid, v_old.uuid), note.before, note.after
    FROM (
        SELECT 'provider' AS topic, history_provider_object(v_old) AS before, history_provider_object(v_new) AS after
        UNION ALL SELECT 'trait', history_trait_names(v_old.trait_ids), history_trait_names(v_new.trait_ids)
        WHERE coalesce(v_old.trait_ids, '{}') <> coalesce(v_new.trait_ids, '{}')
        UNION ALL SELECT 'aggregate', history_aggregate_uuids(v_old.aggregate_ids), history_aggregate_uuids(v_new.aggregate_ids)
        WHERE coalesce(v_old.aggregate_ids, '{}') <> coalesce(v_new.aggregate_ids, '{}')
    ) AS note
    WHERE note.before IS DISTINCT FROM note.after;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION history_note_provider(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_note_provider() IS 'Trigger: notes what has changed of a provider: its name, parent and root, its traits, its aggregates.

Runs at the commit. A parent or root that is gone by then has its id in the note: history_step finds the UUID among the
notes of the same transaction. Locks: nothing more.';

--
-- Name: history_pending(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_pending() RETURNS TABLE(index bigint, topic text, provider uuid, consumer uuid, node uuid, class text, before jsonb, after jsonb)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_swept bigint := (SELECT /* history_pending 1/3 */ state.swept FROM history_state AS state);
BEGIN
    IF EXISTS (SELECT /* history_pending 2/3 */ FROM outbox AS note WHERE note.seq > v_swept) THEN
        RETURN QUERY SELECT /* history_pending 3/3 */ 4611686018427387904 + change.last, change.topic, change.provider, change.consumer, change.node, change.class,
            change.before, change.after
        FROM history_changes(v_swept) AS change;
    END IF;
END
$$;

--
-- Name: FUNCTION history_pending(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_pending() IS 'Returns the changes that are not in history yet, as later changes than all of history: with indexes above all others, in their order.

Called by the functions that return how it was, mostly just after a step, when there are none. enable_seqscan off: see history_step.
Locks: none. Plan: outbox_pkey.';

--
-- Name: resource_providers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.resource_providers (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    root_id bigint NOT NULL,
    parent_id bigint,
    trait_ids integer[] DEFAULT '{}'::integer[] NOT NULL,
    aggregate_ids integer[] DEFAULT '{}'::integer[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    CONSTRAINT resource_providers_root_check CHECK (((parent_id IS NULL) = (root_id = id)))
)
WITH (fillfactor='80');

--
-- Name: TABLE resource_providers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.resource_providers IS 'Resource providers: entities with inventories, such as compute nodes, NUMA nodes, network functions and storage pools, organized in trees. Updates change trait_ids and aggregate_ids, which no index contains: fillfactor 80 leaves room in the page, so that these updates are HOT.';

--
-- Name: COLUMN resource_providers.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_providers.id IS 'Internal key.';

--
-- Name: COLUMN resource_providers.uuid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_providers.uuid IS 'Key in the API.';

--
-- Name: COLUMN resource_providers.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_providers.name IS 'Name in the API. COLLATE "C" compares bytes, so that the index does not depend on the libc of the server: with another collation, an upgrade of libc can make a unique index miss rows.';

--
-- Name: COLUMN resource_providers.root_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_providers.root_id IS 'Root of the tree; equal to id for a root. A copy of what parent_id implies, so that a whole tree is one range of an index. A transaction that changes or copies it holds the row lock of the root.';

--
-- Name: COLUMN resource_providers.parent_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_providers.parent_id IS 'Parent provider; null for a root.';

--
-- Name: COLUMN resource_providers.trait_ids; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_providers.trait_ids IS 'Copy of provider_traits, in ascending order, maintained by triggers on that table. It answers whether one provider qualifies, from its own row; the index of provider_traits answers which providers have a trait. It has no index on purpose: with a GIN index the planner reads the list of a common trait to check a single provider.';

--
-- Name: COLUMN resource_providers.aggregate_ids; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_providers.aggregate_ids IS 'Copy of provider_aggregates, maintained like trait_ids.';

--
-- Name: COLUMN resource_providers.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_providers.created_at IS 'Time of creation.';

--
-- Name: COLUMN resource_providers.revision; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_providers.revision IS 'Incremented by every UPDATE of the row (trigger provider_revise): by changes of its name, parent, root, traits and aggregates, never by a claim. A claim compares it with the revision that its search has read.';

--
-- Name: history_provider_object(public.resource_providers); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_provider_object(p_provider public.resource_providers) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT /* history_provider_object 1/1 */ jsonb_build_object('name', p_provider.name,
        'parent', coalesce((SELECT to_jsonb(parent.uuid) FROM resource_providers AS parent WHERE parent.id = p_provider.parent_id),
            to_jsonb(p_provider.parent_id)),
        'root', CASE WHEN p_provider.root_id = p_provider.id THEN to_jsonb(p_provider.uuid) ELSE coalesce(
            (SELECT to_jsonb(root.uuid) FROM resource_providers AS root WHERE root.id = p_provider.root_id),
            to_jsonb(p_provider.root_id)) END)
    WHERE p_provider.id IS NOT NULL
$$;

--
-- Name: FUNCTION history_provider_object(p_provider public.resource_providers); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_provider_object(p_provider public.resource_providers) IS 'A provider as notes have it; null for null. A parent or root without a row has its id in place of its UUID.';

--
-- Name: history_providers_at(bigint, timestamp with time zone, uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_providers_at(p_index bigint, p_began timestamp with time zone, p_providers uuid[]) RETURNS TABLE(uuid uuid, id bigint, name text, parent uuid, root uuid, generation bigint)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_last_day date := history_day_of(p_index);
BEGIN
    RETURN QUERY
    WITH /* history_providers_at 1/1 */ later AS MATERIALIZED (
        SELECT DISTINCT ON (change.provider) change.provider, change.before
        FROM history_later(p_index, '{provider}', p_providers, NULL) AS change ORDER BY change.provider, change.index
    ), state AS (
        SELECT key.uuid, present.id,
            CASE WHEN later.provider IS NULL THEN present.name ELSE later.before ->> 'name' END AS name,
            CASE WHEN later.provider IS NULL THEN present.parent ELSE (later.before ->> 'parent')::uuid END AS parent,
            CASE WHEN later.provider IS NULL THEN present.root ELSE (later.before ->> 'root')::uuid END AS root
        FROM unnest(p_providers) AS key (uuid)
        LEFT JOIN LATERAL (
            SELECT one.id, one.name, (SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = one.parent_id) AS parent,
                (SELECT root.uuid FROM resource_providers AS root WHERE root.id = one.root_id) AS root
            FROM resource_providers AS one WHERE one.uuid = key.uuid OFFSET 0
        ) AS present ON true
        LEFT JOIN later ON later.provider = key.uuid
        WHERE CASE WHEN later.provider IS NULL THEN present.id IS NOT NULL ELSE later.before IS NOT NULL END
    )
    SELECT state.uuid, state.id, state.name, state.parent, state.root, recorded.generation
    FROM state
    LEFT JOIN LATERAL (
        SELECT one.generation FROM history AS one
        WHERE one.provider = state.uuid AND one.index <= p_index AND one.day <= v_last_day AND one.at > p_began AND one.generation IS NOT NULL
        ORDER BY one.index DESC LIMIT 1
    ) AS recorded ON true;
END
$$;

--
-- Name: FUNCTION history_providers_at(p_index bigint, p_began timestamp with time zone, p_providers uuid[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_providers_at(p_index bigint, p_began timestamp with time zone, p_providers uuid[]) IS 'Returns the providers that existed at an event, as they were: name, parent, root, and the generation of their last event up to then.

p_index: the event; p_began: the time from which the record is complete, null: without generations; p_providers: each once. id is that of now, null if the provider is
gone. generation is null if the record has none up to then.
Called by tree_show_at, tree_members_at and history_consumers_at. Locks: none.
Plan: history_later; resource_providers_uuid_key; history_provider_idx backwards, to the last row with a generation.';

--
-- Name: history_prune(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_prune() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO '$user', 'public'
    SET lock_timeout TO '10ms'
    AS $$
DECLARE
    v_day date;
BEGIN
    SELECT /* history_prune 1/3 */ min(known.day) INTO v_day FROM history_days AS known, history_state AS state
    WHERE known.day < (clock_timestamp() AT TIME ZONE 'UTC')::date - state.keep_days OR state.keep_days = 0 AND state.state = 'off';
    IF v_day IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE %I', 'history_' || to_char(v_day, 'YYYYMMDD'));
    DELETE /* history_prune 2/3 */ FROM history_days WHERE day = v_day;
    DELETE /* history_prune 3/3 */ FROM history_marks AS mark
    WHERE mark.first < (SELECT coalesce(min(known.first), 9223372036854775807) FROM history_days AS known);
    RETURN true;
END
$$;

--
-- Name: FUNCTION history_prune(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_prune() IS 'Deletes the oldest day of the record that is no longer kept. Returns whether there was one: call it again.

A day is kept for keep_days whole days after it. With 0 days and the record off, all days are deleted. With the rights of the owner
of the schema, because the service cannot drop tables.
Locks: history, ACCESS EXCLUSIVE, for one update of the catalog. It waits for readers of history for at most 10 ms, because others
queue behind it, and raises 55P03 then. The files are deleted after the locks are released.';

--
-- Name: history_renames(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_renames(p_index bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_day date := history_day_of(p_index + 1);
BEGIN
    RETURN (
        SELECT /* history_renames 1/1 */ jsonb_agg(jsonb_build_object('index', change.index, 'name', change.class, 'old', change.old) ORDER BY change.index DESC)
        FROM (
            SELECT one.index, one.class, one.before ->> 'name' AS old FROM history AS one
            WHERE one.topic = 'class_name' AND one.before ->> 'name' IS NOT NULL AND one.index > p_index AND one.day >= v_day
            UNION ALL
            SELECT note.index, note.class, note.before ->> 'name' FROM history_pending() AS note
            WHERE note.topic = 'class_name' AND note.before ->> 'name' IS NOT NULL
        ) AS change);
END
$$;

--
-- Name: FUNCTION history_renames(p_index bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_renames(p_index bigint) IS 'Returns the resource classes that were renamed after an event, the last first: an array of {index, name, old}; null: none.

Changes have the names of their time, other tables those of now: history_class_then leads from both to the names at the event.
Called by history_inventories_at and history_allocations_at. Locks: none. Plan: history_renamed_idx; history_pending.';

--
-- Name: history_settle(interval); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_settle(p_delay interval) RETURNS text
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE /* history_settle 1/2 */ history_state SET state = 'on', since = clock_timestamp()
    WHERE state = 'starting' AND triggers_at + p_delay <= clock_timestamp();
    RETURN (SELECT /* history_settle 2/2 */ state.state FROM history_state AS state);
END
$$;

--
-- Name: FUNCTION history_settle(p_delay interval); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_settle(p_delay interval) IS 'Ends the state starting of the record: p_delay after the last trigger was enabled, by which time each server sends who asks with
its writes. Returns the state. Locks: history_state, if it changes.';

--
-- Name: history_step(boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_step(p_wait boolean) RETURNS bigint
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_state history_state;
    v_cluster text;
    v_log uuid;
    v_drawn bigint;
    v_writers text[];
    v_day date;
    v_newest bigint;
    v_began timestamptz;
    v_earliest timestamptz;
    v_mark history_marks;
BEGIN
    IF p_wait THEN
        PERFORM /* history_step 1/14 */ pg_advisory_xact_lock(hashtextextended('berth history', 0));
    ELSIF NOT pg_try_advisory_xact_lock(hashtextextended('berth history', 0)) THEN
        RETURN (SELECT /* history_step 2/14 */ state.newest FROM history_state AS state);
    END IF;
    SELECT /* history_step 3/14 */ * INTO v_state FROM history_state;
    v_log := v_state.log;
    v_began := clock_timestamp();
    SELECT /* history_step 4/14 */ control.system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
    INTO v_cluster FROM pg_control_system() AS control;
    IF v_state.cluster <> v_cluster THEN
        v_log := gen_random_uuid();
        INSERT /* history_step 5/14 */ INTO outbox (topic, caller, before, after)
        VALUES ('history', jsonb_build_object('process', 'failover'), jsonb_build_object('log', v_state.log), jsonb_build_object('log', v_log));
    END IF;
    -- First the last number that was drawn, null before the first one; then who can still commit a lower one.
    v_drawn := coalesce(pg_sequence_last_value('outbox_seq_seq'), 0);
    v_writers := ARRAY(
        SELECT /* history_step 6/14 */ DISTINCT held.virtualtransaction FROM pg_locks AS held
        WHERE held.locktype = 'relation' AND held.relation = 'outbox'::regclass AND held.mode = 'RowExclusiveLock'
          AND held.database = (SELECT here.oid FROM pg_database AS here WHERE here.datname = current_database())
          AND held.pid <> pg_backend_pid());
    v_day := greatest((clock_timestamp() AT TIME ZONE 'UTC')::date,
        (SELECT /* history_step 7/14 */ max(known.day) FROM history_days AS known));
    IF v_state.state <> 'off' AND EXISTS (SELECT /* history_step 8/14 */ FROM outbox AS note WHERE note.seq > v_state.swept) THEN
        PERFORM /* history_step 9/14 */ history_day(v_day, v_state.newest + 1);
    END IF;

    WITH /* history_step 10/14 */ taken AS MATERIALIZED (
        DELETE FROM outbox WHERE seq > v_state.swept RETURNING outbox.*
    ),
    changes AS MATERIALIZED (
        SELECT change.* FROM history_changes(v_state.swept) AS change
    ),
    events AS (
        SELECT written.xid, written.at, written.caller, v_state.newest + row_number() OVER (ORDER BY written.last) AS index
        FROM (
            SELECT taken.xid, max(taken.at) AS at, max(taken.seq) AS last,
                (array_agg(taken.caller ORDER BY taken.seq) FILTER (WHERE taken.caller IS NOT NULL))[1] AS caller
            FROM taken GROUP BY taken.xid
        ) AS written
        WHERE v_state.state <> 'off' AND written.xid IN (SELECT change.xid FROM changes AS change)
    ),
    recorded AS (
        INSERT INTO history (day, index, place, at, topic, provider, root, consumer, node, class, generation, name, previous_name,
            project, previous_project, request_id, global_request_id, caller, before, after)
        SELECT v_day, event.index, row_number() OVER (PARTITION BY event.index ORDER BY change.seq, change.provider), event.at, change.topic,
            coalesce(change.provider, allocated.node), nullif(tree.root, change.provider), change.consumer, change.node, change.class,
            change.generation,
            naming.name, nullif(naming.previous, naming.name), owning.project, nullif(owning.previous, owning.project),
            event.caller ->> 'request_id', event.caller ->> 'global_request_id', event.caller, change.before, change.after
        FROM changes AS change
        JOIN events AS event USING (xid)
        CROSS JOIN LATERAL (
            SELECT CASE WHEN change.provider IS NULL THEN NULL WHEN change.topic = 'provider' THEN
                coalesce(change.after, change.before) ->> 'root' ELSE (
                SELECT (SELECT root.uuid::text FROM resource_providers AS root WHERE root.id = provider.root_id)
                FROM resource_providers AS provider WHERE provider.uuid = change.provider) END AS root OFFSET 0
        ) AS tree_text
        CROSS JOIN LATERAL (SELECT CASE WHEN length(tree_text.root) = 36 THEN tree_text.root::uuid END AS root) AS tree
        -- A node allocation is found by its node, as a provider is.
        CROSS JOIN LATERAL (
            SELECT CASE WHEN change.topic = 'node_allocation' THEN
                coalesce(change.after ->> 'node_uuid', change.before ->> 'node_uuid') END AS node OFFSET 0
        ) AS allocated_text
        CROSS JOIN LATERAL (
            SELECT CASE WHEN length(allocated_text.node) = 36 THEN allocated_text.node::uuid END AS node
        ) AS allocated
        CROSS JOIN LATERAL (
            SELECT coalesce(change.after, change.before) ->> 'name' AS name, change.before ->> 'name' AS previous
            WHERE change.topic IN ('provider', 'node', 'node_allocation') UNION ALL
            SELECT NULL, NULL WHERE change.topic NOT IN ('provider', 'node', 'node_allocation')
        ) AS naming
        CROSS JOIN LATERAL (
            SELECT coalesce(change.after, change.before) ->> 'project_id' AS project, change.before ->> 'project_id' AS previous
        ) AS owning
        RETURNING index, at
    )
    SELECT max(recorded.index), min(recorded.at) INTO v_newest, v_earliest FROM recorded;
    IF v_newest IS NOT NULL THEN
        SELECT /* history_step 11/14 */ * INTO v_mark FROM history_marks AS mark ORDER BY mark.first DESC LIMIT 1;
        IF v_mark.at > v_began - interval '1 minute' AND v_newest < v_mark.first + 5000 THEN
            UPDATE /* history_step 12/14 */ history_marks SET earliest = v_earliest WHERE first = v_mark.first AND earliest > v_earliest;
        ELSE
            INSERT /* history_step 13/14 */ INTO history_marks (first, at, earliest) VALUES (v_state.newest + 1, v_began, v_earliest);
        END IF;
    END IF;

    IF v_writers = '{}' THEN
        v_state.swept := v_drawn;
        v_state.writers := '{}';
    ELSIF NOT v_state.writers && v_writers THEN
        v_state.swept := v_state.drawn;
        v_state.drawn := v_drawn;
        v_state.writers := v_writers;
    END IF;
    UPDATE /* history_step 14/14 */ history_state AS state SET newest = coalesce(v_newest, state.newest), swept = v_state.swept,
        drawn = v_state.drawn, writers = v_state.writers, cluster = v_cluster, log = v_log
    WHERE v_newest IS NOT NULL OR (state.swept, state.drawn, state.writers, state.cluster, state.log)
        IS DISTINCT FROM (v_state.swept, v_state.drawn, v_state.writers, v_cluster, v_log);
    RETURN coalesce(v_newest, v_state.newest);
END
$$;

--
-- Name: FUNCTION history_step(p_wait boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_step(p_wait boolean) IS 'Puts the notes of committed writes in order and writes them to history. Returns the newest index. Each server calls it every
second while changes are recorded.

p_wait: wait for a step that is under way; otherwise return without doing anything.

The transactions are ordered by their last numbers. A transaction draws its last number when it holds all its locks. So of two
that need the same lock, the one that got it first has the lower number, and it has committed before the other one could draw
its own. What is not committed yet gets a higher index, and nothing of it must come before what this step sees.

swept is the number up to which no note can appear any more. A transaction that has drawn a number holds a lock on outbox until
it ends: when all that held one at an earlier look have ended, nothing below the last number of that look can appear.

Callers set berth.caller, as JSON, before their write, in its transaction.

While the record is off, it deletes the notes of transactions that were under way when it was turned off, and records nothing.

Locks: an advisory lock that only steps take; no writer waits for it. enable_seqscan off: a plan that was made while outbox was
small would read all its dead rows.
Calls: history_day, history_changes. Plan: outbox_pkey from swept on.';

--
-- Name: history_switch(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_switch() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO '$user', 'public'
    SET lock_timeout TO '500ms'
    AS $$
DECLARE
    v_on bool;
    v_table record;
BEGIN
    SELECT /* history_switch 1/4 */ state.state <> 'off' INTO v_on FROM history_state AS state FOR UPDATE;
    SELECT /* history_switch 2/4 */ found.tgrelid::regclass AS name, array_agg(found.tgname ORDER BY found.tgname) AS triggers
    INTO v_table
    FROM pg_trigger AS found JOIN pg_class AS of ON of.oid = found.tgrelid
    WHERE of.relnamespace = (SELECT own.relnamespace FROM pg_class AS own WHERE own.oid = 'outbox'::regclass)
      AND starts_with(found.tgname::text, 'history_') AND (found.tgenabled <> 'D') <> v_on
    GROUP BY found.tgrelid ORDER BY found.tgrelid LIMIT 1;
    IF v_table.name IS NULL THEN
        UPDATE /* history_switch 3/4 */ history_state SET triggers_at = clock_timestamp() WHERE v_on AND triggers_at IS NULL;
        RETURN false;
    END IF;
    EXECUTE (SELECT /* history_switch 4/4 */ format('ALTER TABLE %s ', v_table.name) || string_agg(
        format('%s TRIGGER %I', CASE WHEN v_on THEN 'ENABLE' ELSE 'DISABLE' END, item.name), ', ')
        FROM unnest(v_table.triggers) AS item (name));
    RETURN true;
END
$$;

--
-- Name: FUNCTION history_switch(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_switch() IS 'Enables or disables the triggers of one table, as the state of the record says. Returns whether another call is needed.

With the rights of the owner of the schema, because the service cannot change tables. Each call is a transaction of its own, so
that writers wait for one table at a time, and at most half a second. A transaction that has written the table before has ended
then, and every later one runs its triggers.
Locks: the table SHARE ROW EXCLUSIVE, for one update of the catalog. Raises 55P03 after half a second without it.';

--
-- Name: history_trait_names(integer[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_trait_names(p_ids integer[]) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT /* history_trait_names 1/1 */ to_jsonb(ARRAY(SELECT trait.name FROM traits AS trait WHERE trait.id = ANY (p_ids) ORDER BY trait.name))
    WHERE p_ids IS NOT NULL
$$;

--
-- Name: FUNCTION history_trait_names(p_ids integer[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_trait_names(p_ids integer[]) IS 'The names of traits as notes have them: a sorted array, empty without traits; null for null.';

--
-- Name: history_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.history_state (
    only_row boolean DEFAULT true NOT NULL,
    state text DEFAULT 'off'::text NOT NULL COLLATE pg_catalog."C",
    keep_days integer DEFAULT 7 NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    log uuid DEFAULT gen_random_uuid() NOT NULL,
    cluster text COLLATE pg_catalog."C",
    since timestamp with time zone,
    triggers_at timestamp with time zone,
    newest bigint DEFAULT 0 NOT NULL,
    swept bigint DEFAULT 0 NOT NULL,
    drawn bigint DEFAULT 0 NOT NULL,
    writers text[] DEFAULT '{}'::text[] NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT history_state_keep_days_check CHECK (((keep_days >= 0) AND (keep_days <= 3650))),
    CONSTRAINT history_state_only_row_check CHECK (only_row),
    CONSTRAINT history_state_state_check CHECK ((state = ANY (ARRAY['off'::text, 'starting'::text, 'on'::text])))
)
WITH (fillfactor='50');

--
-- Name: TABLE history_state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.history_state IS 'Settings and state of the record.';

--
-- Name: COLUMN history_state.only_row; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.only_row IS 'There is one row.';

--
-- Name: COLUMN history_state.state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.state IS 'off, starting or on.';

--
-- Name: COLUMN history_state.keep_days; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.keep_days IS 'Days that are kept, besides the current one.';

--
-- Name: COLUMN history_state.generation; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.generation IS 'Incremented by each change of the settings.';

--
-- Name: COLUMN history_state.log; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.log IS 'Series of indexes. Another one: indexes of the one before mean nothing in it.';

--
-- Name: COLUMN history_state.cluster; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.cluster IS 'System identifier and timeline of the last step; a step with another one begins a new log.';

--
-- Name: COLUMN history_state.since; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.since IS 'Time from which the record is complete; null while it is off.';

--
-- Name: COLUMN history_state.triggers_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.triggers_at IS 'Time at which the last trigger was enabled; null before.';

--
-- Name: COLUMN history_state.newest; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.newest IS 'Index of the newest event.';

--
-- Name: COLUMN history_state.swept; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.swept IS 'Number in outbox up to which no note can appear any more.';

--
-- Name: COLUMN history_state.drawn; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.drawn IS 'Last number that had been drawn when writers was read.';

--
-- Name: COLUMN history_state.writers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_state.writers IS 'Transactions that could still commit a number up to drawn.';

--
-- Name: history_update(text, integer, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.history_update(p_state text, p_keep_days integer, p_generation bigint) RETURNS public.history_state
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_before history_state;
    v_after history_state;
    v_turns_on bool;
BEGIN
    PERFORM /* history_update 1/4 */ history_step(true);
    SELECT /* history_update 2/4 */ * INTO v_before FROM history_state FOR UPDATE;
    IF v_before.generation <> p_generation THEN
        RAISE EXCEPTION 'history generation' USING ERRCODE = 'PL090', DETAIL = jsonb_build_object('actual', v_before.generation, 'given', p_generation);
    END IF;
    v_turns_on := p_state = 'on' AND v_before.state = 'off';
    UPDATE /* history_update 3/4 */ history_state AS state SET generation = state.generation + 1, keep_days = p_keep_days,
        state = CASE WHEN v_turns_on THEN 'starting' WHEN p_state = 'off' THEN 'off' ELSE state.state END,
        log = CASE WHEN v_turns_on THEN gen_random_uuid() ELSE state.log END,
        since = CASE WHEN v_turns_on OR p_state = 'off' THEN NULL ELSE state.since END,
        triggers_at = CASE WHEN v_turns_on OR p_state = 'off' THEN NULL ELSE state.triggers_at END
    RETURNING * INTO v_after;
    IF v_after.state <> 'off' THEN
        INSERT /* history_update 4/4 */ INTO outbox (topic, before, after)
        VALUES ('history', jsonb_build_object('state', v_before.state, 'keep_days', v_before.keep_days, 'log', v_before.log),
            jsonb_build_object('state', p_state, 'keep_days', p_keep_days, 'log', v_after.log));
    END IF;
    RETURN v_after;
END
$$;

--
-- Name: FUNCTION history_update(p_state text, p_keep_days integer, p_generation bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.history_update(p_state text, p_keep_days integer, p_generation bigint) IS 'Changes the settings of the record. Returns the state afterwards.

p_generation is compared. Turning it on begins a new log, and the state is starting until history_settle ends it. Turning it off
puts first in order what is committed; what is not, is not recorded. 0 days with off: history_prune then deletes all days.
Raises PL090 (generation). Locks: history_state. Calls: history_step.';

--
-- Name: idempotency_begin(text, text, bytea, text, integer, timestamp with time zone, double precision); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.idempotency_begin(p_caller text, p_key text, p_fingerprint bytea, p_request text, p_status integer, p_created_at timestamp with time zone, p_lifetime double precision) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_found record;
BEGIN
    INSERT /* idempotency_begin 1/3 */ INTO idempotency_keys AS stored
        (caller, key, fingerprint, request, status, created_at, expires_at)
    VALUES (p_caller, p_key, p_fingerprint, p_request, p_status, p_created_at, now() + make_interval(secs => p_lifetime))
    ON CONFLICT (caller, key) DO NOTHING;
    IF FOUND THEN
        RETURN;
    END IF;
    UPDATE /* idempotency_begin 2/3 */ idempotency_keys AS stored
    SET fingerprint = p_fingerprint, request = p_request, status = p_status, answer = NULL, created_at = p_created_at,
        expires_at = now() + make_interval(secs => p_lifetime)
    WHERE stored.caller = p_caller AND stored.key = p_key AND stored.expires_at <= now();
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT /* idempotency_begin 3/3 */ stored.fingerprint, stored.request, stored.created_at INTO v_found
    FROM idempotency_keys AS stored WHERE stored.caller = p_caller AND stored.key = p_key;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the idempotency key was deleted concurrently' USING ERRCODE = '40001';
    END IF;
    IF v_found.fingerprint = p_fingerprint THEN
        RAISE EXCEPTION 'the idempotency key exists' USING ERRCODE = 'PL070', DETAIL = '{}';
    END IF;
    RAISE EXCEPTION 'the idempotency key belongs to another request' USING ERRCODE = 'PL071',
        DETAIL = json_build_object('request', v_found.request, 'created_at', v_found.created_at);
END
$$;

--
-- Name: FUNCTION idempotency_begin(p_caller text, p_key text, p_fingerprint bytea, p_request text, p_status integer, p_created_at timestamp with time zone, p_lifetime double precision); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.idempotency_begin(p_caller text, p_key text, p_fingerprint bytea, p_request text, p_status integer, p_created_at timestamp with time zone, p_lifetime double precision) IS 'Inserts the idempotency key of a write, before the write and in its transaction.

p_fingerprint: SHA-256 of the request. p_request: its method and path. p_status: status of the response if the write
succeeds. p_created_at: time of the request. p_lifetime: seconds until the key expires. The row of an expired key is replaced.
Raises PL070 (the key exists with this fingerprint), PL071 (with another; request and created_at in the detail). Raises
40001 if another transaction deleted the row between two statements.
Locks: the key, until the end of the transaction. An insert waits for a concurrent transaction with the same key. It
comes before all other locks of the transaction, and a transaction has one key.';

--
-- Name: idempotency_end(text, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.idempotency_end(p_caller text, p_key text, p_answer jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_key IS NOT NULL THEN
        UPDATE /* idempotency_end 1/1 */ idempotency_keys AS stored SET answer = p_answer
        WHERE stored.caller = p_caller AND stored.key = p_key;
    END IF;
    RETURN p_answer;
END
$$;

--
-- Name: FUNCTION idempotency_end(p_caller text, p_key text, p_answer jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.idempotency_end(p_caller text, p_key text, p_answer jsonb) IS 'Stores the body of a write''s response with its idempotency key, and returns the body.

Called around the function of a write that has a body, in the transaction of idempotency_begin. p_key null: the request
has no key, and nothing is stored.
Locks nothing further: the transaction has inserted the row.';

--
-- Name: inventory_changes(bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_changes(p_provider_id bigint, p_records jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_changed jsonb;
    v_same bigint;
BEGIN
    IF p_records IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT /* inventory_changes 1/2 */ coalesce(jsonb_agg(item.record ORDER BY item.position)
            FILTER (WHERE had.is_same IS NOT TRUE), '[]'),
        count(*) FILTER (WHERE had.is_same)
    INTO v_changed, v_same
    FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, position)
    LEFT JOIN LATERAL (
        SELECT inventory.total = (item.record ->> 'total')::int AND inventory.reserved = (item.record ->> 'reserved')::int
            AND inventory.min_unit = (item.record ->> 'min_unit')::int
            AND inventory.max_unit = (item.record ->> 'max_unit')::int
            AND inventory.step_size = (item.record ->> 'step_size')::int
            AND inventory.allocation_ratio = (item.record ->> 'allocation_ratio')::float8 AS is_same
        FROM inventories AS inventory
        WHERE inventory.provider_id = p_provider_id
          AND inventory.class_id = (
            SELECT class.id FROM resource_classes AS class WHERE class.name = item.record ->> 'class')
        OFFSET 0
    ) AS had ON true;
    IF v_changed = '[]' AND v_same = (SELECT /* inventory_changes 2/2 */ count(*) FROM inventories AS inventory
        WHERE inventory.provider_id = p_provider_id) THEN
        RETURN NULL;
    END IF;
    RETURN v_changed;
END
$$;

--
-- Name: FUNCTION inventory_changes(p_provider_id bigint, p_records jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_changes(p_provider_id bigint, p_records jsonb) IS 'Returns the records among all new inventories of a provider that differ from the present ones, in the order of the
request; empty if only classes are dropped, null if the inventories are the same.

p_provider_id null: a provider that does not exist yet. p_records: see inventory_write; null: the inventories stay as
they are. A record of an unknown class differs. Locks nothing.
Plan: keys, and the range of the provider in inventories_pkey.';

--
-- Name: inventory_check_capacity(uuid, jsonb, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_check_capacity(p_provider uuid, p_records jsonb, p_min_capacity integer) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_class text;
BEGIN
    SELECT /* inventory_check_capacity 1/1 */ item.record ->> 'class' INTO v_class
    FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, position)
    WHERE trunc(
        ((item.record ->> 'total')::int - (item.record ->> 'reserved')::int)
        * (item.record ->> 'allocation_ratio')::float8
    ) < p_min_capacity
    ORDER BY item.position
    LIMIT 1;
    IF v_class IS NOT NULL THEN
        RAISE EXCEPTION 'inventory of % on provider % has too much reserved', v_class, p_provider
            USING ERRCODE = 'PL006', DETAIL = json_build_object('provider', p_provider, 'class', v_class);
    END IF;
END
$$;

--
-- Name: FUNCTION inventory_check_capacity(p_provider uuid, p_records jsonb, p_min_capacity integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_check_capacity(p_provider uuid, p_records jsonb, p_min_capacity integer) IS 'Rejects inventory records whose capacity is too small.

p_records: see inventory_write. p_min_capacity: 1 before microversion 1.26, where an inventory must not
be reserved completely; otherwise 0. Raises PL006 for the first such record. Locks nothing.';

--
-- Name: inventory_create(uuid, jsonb, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_create(p_provider uuid, p_record jsonb, p_min_capacity integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN inventory_create_checked(p_provider, NULL, p_record, p_min_capacity);
END
$$;

--
-- Name: FUNCTION inventory_create(p_provider uuid, p_record jsonb, p_min_capacity integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_create(p_provider uuid, p_record jsonb, p_min_capacity integer) IS 'Adds the inventory of one class, for any generation. See inventory_create_checked.

Servers of earlier versions call it; a later migration drops it.
Raises what inventory_create_checked raises, except PL002. Locks: as inventory_create_checked.
Calls: inventory_create_checked.';

--
-- Name: inventory_create_checked(uuid, bigint, jsonb, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_create_checked(p_provider uuid, p_generation bigint, p_record jsonb, p_min_capacity integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
BEGIN
    SELECT /* inventory_create_checked 1/4 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    PERFORM /* inventory_create_checked 2/4 */ inventory_check_capacity(p_provider, jsonb_build_array(p_record),
        p_min_capacity);
    IF EXISTS (
        SELECT /* inventory_create_checked 3/4 */
        FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
        WHERE inventory.provider_id = v_locked.provider_id AND class.name = p_record ->> 'class'
    ) THEN
        RAISE EXCEPTION 'provider % has inventory of % already', p_provider, p_record ->> 'class'
            USING ERRCODE = 'PL008',
            DETAIL = json_build_object('provider', p_provider, 'class', p_record ->> 'class');
    END IF;
    PERFORM /* inventory_create_checked 4/4 */ inventory_write(v_locked.provider_id, v_locked.root_id,
        jsonb_build_array(p_record));
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;

--
-- Name: FUNCTION inventory_create_checked(p_provider uuid, p_generation bigint, p_record jsonb, p_min_capacity integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_create_checked(p_provider uuid, p_generation bigint, p_record jsonb, p_min_capacity integer) IS 'POST /resource_providers/{uuid}/inventories: adds the inventory of one class.

p_generation null: do not compare the provider''s generation. p_record: one record as in inventory_write.
Returns the new generation.
Raises, in this order: PL001 (no such provider), PL002 (generation), PL006 (reserved), PL008 (the provider has
this class already), PL004 (unknown class). Locks: root, provider.';

--
-- Name: inventory_delete(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_delete(p_provider uuid, p_class text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN inventory_delete_checked(p_provider, NULL, p_class);
END
$$;

--
-- Name: FUNCTION inventory_delete(p_provider uuid, p_class text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_delete(p_provider uuid, p_class text) IS 'Deletes the inventory of one class, for any generation. See inventory_delete_checked.

Servers of earlier versions call it; a later migration drops it.
Raises what inventory_delete_checked raises, except PL002. Locks: as inventory_delete_checked.
Calls: inventory_delete_checked.';

--
-- Name: inventory_delete_all(uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_delete_all(p_provider uuid) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN inventory_delete_all_checked(p_provider, NULL);
END
$$;

--
-- Name: FUNCTION inventory_delete_all(p_provider uuid); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_delete_all(p_provider uuid) IS 'Deletes all inventories of a provider, for any generation. See inventory_delete_all_checked.

Servers of earlier versions call it; a later migration drops it.
Raises what inventory_delete_all_checked raises, except PL002. Locks: as inventory_delete_all_checked.
Calls: inventory_delete_all_checked.';

--
-- Name: inventory_delete_all_checked(uuid, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_delete_all_checked(p_provider uuid, p_generation bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
BEGIN
    SELECT /* inventory_delete_all_checked 1/2 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    PERFORM /* inventory_delete_all_checked 2/2 */ inventory_delete_except(p_provider, v_locked.provider_id, '{}');
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;

--
-- Name: FUNCTION inventory_delete_all_checked(p_provider uuid, p_generation bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_delete_all_checked(p_provider uuid, p_generation bigint) IS 'DELETE /resource_providers/{uuid}/inventories: deletes all inventories of the provider.

p_generation null: do not compare the provider''s generation. Returns the new generation.
Raises PL001 (no such provider), PL002 (generation) and PL005 (in use). Locks: root, provider.';

--
-- Name: inventory_delete_checked(uuid, bigint, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_delete_checked(p_provider uuid, p_generation bigint, p_class text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
    v_used bigint;
BEGIN
    SELECT /* inventory_delete_checked 1/4 */ * INTO v_locked FROM provider_lock(p_provider, NULL, true, false);
    SELECT /* inventory_delete_checked 2/4 */ inventory.used INTO v_used
    FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
    WHERE inventory.provider_id = v_locked.provider_id AND class.name = p_class;
    IF v_used IS NOT NULL THEN
        PERFORM /* inventory_delete_checked 3/4 */ provider_check_generation(p_provider, v_locked.generation, p_generation);
    END IF;
    IF v_used IS NULL OR v_used > 0 THEN
        RAISE EXCEPTION 'inventory of % on provider % cannot be deleted', p_class, p_provider
            USING ERRCODE = CASE WHEN v_used IS NULL THEN 'PL007' ELSE 'PL005' END,
            DETAIL = json_build_object('provider', p_provider, 'class', p_class);
    END IF;
    DELETE /* inventory_delete_checked 4/4 */ FROM inventories AS inventory USING resource_classes AS class
    WHERE inventory.provider_id = v_locked.provider_id AND class.id = inventory.class_id AND class.name = p_class;
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;

--
-- Name: FUNCTION inventory_delete_checked(p_provider uuid, p_generation bigint, p_class text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_delete_checked(p_provider uuid, p_generation bigint, p_class text) IS 'DELETE /resource_providers/{uuid}/inventories/{class}: deletes the inventory of one class.

p_generation null: do not compare the provider''s generation. Returns the new generation.
Raises, in this order: PL001 (no such provider), PL007 (the provider has none of it), PL002 (generation), PL005
(in use).
Locks: root, provider.';

--
-- Name: inventory_delete_except(uuid, bigint, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_delete_except(p_provider uuid, p_provider_id bigint, p_keep text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_in_use text[];
BEGIN
    SELECT /* inventory_delete_except 1/2 */ array_agg(class.name ORDER BY class.id) INTO v_in_use
    FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
    WHERE inventory.provider_id = p_provider_id AND inventory.used > 0 AND class.name <> ALL (p_keep);
    IF v_in_use IS NOT NULL THEN
        RAISE EXCEPTION 'inventory of % on provider % is in use', array_to_string(v_in_use, ', '), p_provider
            USING ERRCODE = 'PL005',
            DETAIL = json_build_object('provider', p_provider, 'class', array_to_string(v_in_use, ', '));
    END IF;
    DELETE /* inventory_delete_except 2/2 */ FROM inventories AS inventory USING resource_classes AS class
    WHERE inventory.provider_id = p_provider_id AND class.id = inventory.class_id AND class.name <> ALL (p_keep);
END
$$;

--
-- Name: FUNCTION inventory_delete_except(p_provider uuid, p_provider_id bigint, p_keep text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_delete_except(p_provider uuid, p_provider_id bigint, p_keep text[]) IS 'Deletes a provider''s inventories of all classes except p_keep.

Raises PL005 naming the classes (in the order of their ids) that still have allocations. The caller has
locked the provider and its root, so no transaction can add an allocation between check and deletion.';

--
-- Name: inventory_merge(uuid, bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_merge(p_provider uuid, p_provider_id bigint, p_records jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_patch jsonb;
    v_before jsonb;
    v_after jsonb;
    v_changed jsonb := '[]'::jsonb;
BEGIN
    FOR v_position IN 0 .. jsonb_array_length(p_records) - 1 LOOP
        v_patch := p_records -> v_position;
        v_before := (
            SELECT /* inventory_merge 1/2 */ jsonb_build_object('total', inventory.total, 'reserved', inventory.reserved,
                'min_unit', inventory.min_unit, 'max_unit', inventory.max_unit, 'step_size', inventory.step_size,
                'allocation_ratio', inventory.allocation_ratio)
            FROM inventories AS inventory
            WHERE inventory.provider_id = p_provider_id
              AND inventory.class_id = (
                SELECT class.id FROM resource_classes AS class WHERE class.name = v_patch ->> 'class'));
        v_after := jsonb_build_object('reserved', 0, 'min_unit', 1, 'max_unit', 2147483647, 'step_size', 1,
                'allocation_ratio', 1)
            || coalesce(v_before - ARRAY(SELECT /* inventory_merge 2/2 */ jsonb_object_keys(v_patch)), '{}')
            || jsonb_strip_nulls(v_patch);
        IF NOT v_after ? 'total' THEN
            RAISE EXCEPTION 'inventory of % on provider % has no total', v_patch ->> 'class', p_provider
                USING ERRCODE = 'PL076',
                DETAIL = json_build_object('provider', p_provider, 'class', v_patch ->> 'class');
        END IF;
        IF v_after - 'class' IS DISTINCT FROM v_before THEN
            v_changed := v_changed || jsonb_build_array(v_after);
        END IF;
    END LOOP;
    RETURN v_changed;
END
$$;

--
-- Name: FUNCTION inventory_merge(p_provider uuid, p_provider_id bigint, p_records jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_merge(p_provider uuid, p_provider_id bigint, p_records jsonb) IS 'Returns the complete records of the inventories that a merge patch changes, for inventory_write.

p_records is a JSON array of objects with class and some members of a record: a member replaces the value, null
resets it to its default, and what is missing keeps the value of the inventory, or the default if the provider has
none of the class. Records that equal their inventories are left out.
Raises PL076 for the first record without a total. Locks nothing; the caller has locked the provider.';

--
-- Name: inventory_names(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_names(p_records jsonb) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* inventory_names 1/1 */ item.record ->> 'class'
        FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, position)
        ORDER BY item.position);
END
$$;

--
-- Name: FUNCTION inventory_names(p_records jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_names(p_records jsonb) IS 'Returns the class names of inventory records (see inventory_write), in the order of the records.';

--
-- Name: inventory_patch(uuid, bigint, jsonb, text[], integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_patch(p_provider uuid, p_generation bigint, p_records jsonb, p_removed text[], p_min_capacity integer) RETURNS TABLE(shown_generation bigint, shown_position integer, shown_class text, shown_total integer, shown_reserved integer, shown_min_unit integer, shown_max_unit integer, shown_step_size integer, shown_ratio double precision)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
    v_changed jsonb;
    v_before text[];
    v_kept text[];
BEGIN
    SELECT /* inventory_patch 1/6 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    v_changed := inventory_merge(p_provider, v_locked.provider_id, p_records);
    PERFORM /* inventory_patch 2/6 */ inventory_check_capacity(p_provider, v_changed, p_min_capacity);
    IF v_changed <> '[]' THEN
        PERFORM /* inventory_patch 3/6 */ inventory_write(v_locked.provider_id, v_locked.root_id, v_changed);
    END IF;
    SELECT /* inventory_patch 4/6 */ coalesce(array_agg(class.name), '{}'),
        coalesce(array_agg(class.name) FILTER (WHERE class.name <> ALL (p_removed)), '{}')
    INTO v_before, v_kept
    FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
    WHERE inventory.provider_id = v_locked.provider_id;
    IF cardinality(v_kept) < cardinality(v_before) THEN
        PERFORM /* inventory_patch 5/6 */ inventory_delete_except(p_provider, v_locked.provider_id, v_kept);
    END IF;
    IF v_changed <> '[]' OR cardinality(v_kept) < cardinality(v_before) THEN
        v_locked.generation := provider_bump_generation(v_locked.provider_id);
    END IF;
    RETURN QUERY SELECT /* inventory_patch 6/6 */ v_locked.generation, coalesce(inventory.class_id, -1),
        coalesce(class.name, ''), coalesce(inventory.total, 0), coalesce(inventory.reserved, 0),
        coalesce(inventory.min_unit, 0), coalesce(inventory.max_unit, 0), coalesce(inventory.step_size, 0),
        coalesce(inventory.allocation_ratio, 0)
    FROM (SELECT v_locked.provider_id AS id) AS provider
    LEFT JOIN inventories AS inventory ON inventory.provider_id = provider.id
    LEFT JOIN resource_classes AS class ON class.id = inventory.class_id;
END
$$;

--
-- Name: FUNCTION inventory_patch(p_provider uuid, p_generation bigint, p_records jsonb, p_removed text[], p_min_capacity integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_patch(p_provider uuid, p_generation bigint, p_records jsonb, p_removed text[], p_min_capacity integer) IS 'PATCH /resource_providers/{uuid}/inventories: changes, adds and removes inventories of the provider.

p_generation null: do not compare the provider''s generation. p_records: see inventory_merge; p_removed: names of the
classes to remove; names that do not exist are ignored. p_min_capacity: see inventory_check_capacity.
Increments the generation only if something changes. Returns the generation and all inventories afterwards, with
the id of the class as position; without inventories one row whose class is empty.
Raises, in this order: PL001 (no such provider), PL002 (generation), PL076 (no total), PL006 (reserved), PL004
(unknown class), PL005 (a removed class is in use). Records that do not change are not checked.
Locks: root, provider. Idempotent without a generation.
Calls: provider_lock, inventory_merge, inventory_check_capacity, inventory_write, inventory_delete_except,
provider_bump_generation.';

--
-- Name: inventory_replace(uuid, bigint, jsonb, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_replace(p_provider uuid, p_generation bigint, p_records jsonb, p_min_capacity integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
BEGIN
    SELECT /* inventory_replace 1/4 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    PERFORM /* inventory_replace 2/4 */ inventory_check_capacity(p_provider, p_records, p_min_capacity);
    PERFORM /* inventory_replace 3/4 */ inventory_write(v_locked.provider_id, v_locked.root_id, p_records);
    PERFORM /* inventory_replace 4/4 */ inventory_delete_except(p_provider, v_locked.provider_id,
        inventory_names(p_records));
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;

--
-- Name: FUNCTION inventory_replace(p_provider uuid, p_generation bigint, p_records jsonb, p_min_capacity integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_replace(p_provider uuid, p_generation bigint, p_records jsonb, p_min_capacity integer) IS 'PUT /resource_providers/{uuid}/inventories: replaces all inventories of the provider.

p_records: see inventory_write; p_min_capacity: see inventory_check_capacity.
Returns the new generation. Raises, in this order: PL001 (no such provider), PL002 (generation), PL006
(reserved), PL004 (unknown class), PL005 (a dropped class is in use). Locks: root, provider.';

--
-- Name: inventory_update(uuid, bigint, jsonb, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_update(p_provider uuid, p_generation bigint, p_record jsonb, p_min_capacity integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
    v_class int;
BEGIN
    SELECT /* inventory_update 1/4 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, true, false);
    PERFORM /* inventory_update 2/4 */ inventory_check_capacity(p_provider, jsonb_build_array(p_record),
        p_min_capacity);
    v_class := (resource_class_ids(ARRAY[p_record ->> 'class']))[1];
    IF NOT EXISTS (
        SELECT /* inventory_update 3/4 */ FROM inventories AS inventory
        WHERE inventory.provider_id = v_locked.provider_id AND inventory.class_id = v_class
    ) THEN
        RAISE EXCEPTION 'provider % has no inventory of %', p_provider, p_record ->> 'class'
            USING ERRCODE = 'PL007',
            DETAIL = json_build_object('provider', p_provider, 'class', p_record ->> 'class');
    END IF;
    PERFORM /* inventory_update 4/4 */ inventory_write(v_locked.provider_id, v_locked.root_id,
        jsonb_build_array(p_record));
    RETURN provider_bump_generation(v_locked.provider_id);
END
$$;

--
-- Name: FUNCTION inventory_update(p_provider uuid, p_generation bigint, p_record jsonb, p_min_capacity integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_update(p_provider uuid, p_generation bigint, p_record jsonb, p_min_capacity integer) IS 'PUT /resource_providers/{uuid}/inventories/{class}: sets the values of an inventory that exists.

p_record: one record as in inventory_write. Returns the new generation.
Raises, in this order: PL001 (no such provider), PL002 (generation), PL006 (reserved), PL004 (unknown
class), PL007 (the provider has none of it).
Locks: root, provider.';

--
-- Name: inventory_write(bigint, bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_write(p_provider_id bigint, p_root_id bigint, p_records jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_classes int[] := resource_class_ids(inventory_names(p_records));
BEGIN
    INSERT /* inventory_write 1/1 */ INTO inventories AS existing (
        provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
    SELECT p_provider_id, v_classes[item.position], p_root_id,
        (item.record ->> 'total')::int, (item.record ->> 'reserved')::int, (item.record ->> 'min_unit')::int,
        (item.record ->> 'max_unit')::int, (item.record ->> 'step_size')::int,
        (item.record ->> 'allocation_ratio')::float8
    FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, position)
    ORDER BY v_classes[item.position]
    ON CONFLICT (provider_id, class_id) DO UPDATE SET
        total = excluded.total, reserved = excluded.reserved, min_unit = excluded.min_unit,
        max_unit = excluded.max_unit, step_size = excluded.step_size,
        allocation_ratio = excluded.allocation_ratio, updated_at = now();
END
$$;

--
-- Name: FUNCTION inventory_write(p_provider_id bigint, p_root_id bigint, p_records jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.inventory_write(p_provider_id bigint, p_root_id bigint, p_records jsonb) IS 'Inserts or updates inventory records of one provider; updates keep used.

p_records is a JSON array of {class, total, reserved, min_unit, max_unit, step_size, allocation_ratio},
with every member. Raises PL004 (unknown class). The caller has locked the provider and its root.';

--
-- Name: lease_check(uuid, bigint, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.lease_check(p_consumer uuid, p_id bigint, p_until timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_until <= clock_timestamp() OR p_until > clock_timestamp() + interval '10 years' THEN
        RAISE EXCEPTION 'until % is not in the next ten years', p_until USING ERRCODE = 'PL080',
            DETAIL = json_build_object('consumer', p_consumer, 'until', p_until, 'now', clock_timestamp());
    END IF;
    -- A consumer that has nothing on the node has the UUID of the node allocation by coincidence.
    IF EXISTS (
        SELECT /* lease_check 1/1 */ FROM node_allocations AS node_allocation
        JOIN nodes AS node ON node.id = node_allocation.node_id
        JOIN resource_providers AS provider ON provider.uuid = node.uuid
        JOIN allocations AS allocation ON allocation.consumer_id = p_id AND allocation.provider_id = provider.id
        WHERE node_allocation.uuid = p_consumer
    ) THEN
        RAISE EXCEPTION 'consumer % belongs to a node allocation', p_consumer USING ERRCODE = 'PL081',
            DETAIL = json_build_object('consumer', p_consumer);
    END IF;
END
$$;

--
-- Name: FUNCTION lease_check(p_consumer uuid, p_id bigint, p_until timestamp with time zone); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.lease_check(p_consumer uuid, p_id bigint, p_until timestamp with time zone) IS 'Checks that a consumer may have a lease until a time; null: without such a time.

Raises PL080 (the time is not after now, or more than ten years ahead, by the clock of the database), PL081 (the consumer
has claimed a node for an allocation of the Bare Metal API). Locks nothing.
Plan: node_allocations_uuid_key; for a node allocation keys of its node.';

--
-- Name: lease_drop(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.lease_drop() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE /* lease_drop 1/1 */ FROM leases WHERE consumer_id = OLD.id;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION lease_drop(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.lease_drop() IS 'Trigger: deletes the lease of a deleted consumer.

It fires only for consumers with a lease. Locks: the lease, after the consumer and its providers.';

--
-- Name: lease_expire(integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.lease_expire(p_most integer, OUT looked_at integer, OUT moved integer, OUT removed jsonb) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_looked record;
    v_ids bigint[];
    v_held record;
BEGIN
    moved := 0;
    removed := '[]';
    SELECT /* lease_expire 1/9 */ count(*)::int AS count,
        array_agg(looked.consumer_id) FILTER (WHERE looked.expires_at > looked.due) AS renewed
    INTO v_looked FROM (
        SELECT lease.consumer_id, lease.due, lease.expires_at FROM leases AS lease WHERE lease.due <= v_now
        ORDER BY lease.due LIMIT p_most
    ) AS looked;
    looked_at := v_looked.count;
    IF v_looked.renewed IS NOT NULL THEN
        v_ids := ARRAY(SELECT /* lease_expire 2/9 */ lease.consumer_id FROM leases AS lease
            WHERE lease.consumer_id = ANY (v_looked.renewed) ORDER BY lease.consumer_id FOR NO KEY UPDATE SKIP LOCKED);
        UPDATE /* lease_expire 3/9 */ leases SET due = expires_at WHERE consumer_id = ANY (v_ids) AND expires_at > due;
        -- It ends also if another server has moved them, because no consumer may be locked after a lease.
        moved := cardinality(v_ids);
    END IF;
    IF looked_at = 0 OR moved > 0 THEN
        RETURN;
    END IF;
    v_ids := ARRAY(SELECT /* lease_expire 4/9 */ consumer.id FROM leases AS lease
        CROSS JOIN LATERAL (
            SELECT one.id FROM consumers AS one WHERE one.id = lease.consumer_id FOR UPDATE SKIP LOCKED
        ) AS consumer
        WHERE lease.due <= v_now AND lease.expires_at = lease.due
        ORDER BY lease.due LIMIT p_most);
    PERFORM /* lease_expire 5/9 */ allocation_lock_providers(v_ids, '{}');
    v_ids := ARRAY(SELECT /* lease_expire 6/9 */ lease.consumer_id FROM leases AS lease
        WHERE lease.consumer_id = ANY (v_ids) AND lease.expires_at <= clock_timestamp()
        ORDER BY lease.consumer_id FOR UPDATE);
    WITH /* lease_expire 7/9 */ deleted AS (
        DELETE FROM allocations WHERE consumer_id = ANY (v_ids) RETURNING consumer_id, provider_id, class_id, used, id
    )
    SELECT array_agg(deleted.consumer_id ORDER BY deleted.id) AS consumers, array_agg(deleted.provider_id ORDER BY deleted.id) AS providers,
        array_agg(deleted.class_id ORDER BY deleted.id) AS classes, array_agg(deleted.used ORDER BY deleted.id) AS amounts
    INTO v_held FROM deleted;
    UPDATE /* lease_expire 8/9 */ inventories AS inventory SET used = inventory.used - freed.used
    FROM (SELECT held.provider_id, held.class_id, sum(held.used)::bigint AS used
        FROM unnest(v_held.providers, v_held.classes, v_held.amounts) AS held (provider_id, class_id, used)
        GROUP BY held.provider_id, held.class_id OFFSET 0) AS freed
    WHERE inventory.provider_id = freed.provider_id AND inventory.class_id = freed.class_id;
    WITH /* lease_expire 9/9 */ held AS MATERIALIZED (
        SELECT one.consumer_id, jsonb_agg(jsonb_build_object(
            'provider', (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = one.provider_id),
            'class', (SELECT class.name FROM resource_classes AS class WHERE class.id = one.class_id),
            'amount', one.used) ORDER BY one.position) AS allocations
        FROM unnest(v_held.consumers, v_held.providers, v_held.classes, v_held.amounts) WITH ORDINALITY
            AS one (consumer_id, provider_id, class_id, used, position)
        GROUP BY one.consumer_id
    ), deleted AS (
        DELETE FROM consumers WHERE id = ANY (v_ids)
        RETURNING id, uuid, generation, project_id, user_id, consumer_type_id, created_at
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'consumer', deleted.uuid, 'generation', deleted.generation,
        'project', (SELECT project.external_id FROM projects AS project WHERE project.id = deleted.project_id),
        'user', (SELECT owner.external_id FROM users AS owner WHERE owner.id = deleted.user_id),
        'type', (SELECT type.name FROM consumer_types AS type WHERE type.id = deleted.consumer_type_id),
        'created_at', deleted.created_at, 'removed_at', clock_timestamp(), 'lease', lease_show(lease), 'allocations', held.allocations
    ) ORDER BY lease.expires_at, lease.consumer_id), '[]')
    INTO removed
    FROM deleted
    JOIN leases AS lease ON lease.consumer_id = deleted.id
    LEFT JOIN held ON held.consumer_id = deleted.id;
END
$$;

--
-- Name: FUNCTION lease_expire(p_most integer, OUT looked_at integer, OUT moved integer, OUT removed jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.lease_expire(p_most integer, OUT looked_at integer, OUT moved integer, OUT removed jsonb) IS 'Removes consumers whose leases have expired, with all their allocations. Each server calls it every --lease-interval.

It looks at the first p_most leases in the order of due. Those that were renewed since have a later expires_at: if there are any,
it moves their due and removes nothing, so that the next call has the order of expires_at. Otherwise it removes the first p_most
whose expires_at has passed, by the clock of the database, and whose consumer no other transaction has locked, such as that of
another server.

looked_at is how many leases it looked at, moved the number of those that it locked to move their due. removed is a JSON array with the removed
consumers in the order of expires_at, with what they had.
A removal writes what DELETE /allocations/{consumer_uuid} writes, so the generations of providers do not change.
Locks: the consumers with SKIP LOCKED; their providers in the order of their ids; then their leases in the order of the
consumers'' ids. Only then it compares expires_at: a renewal that was first counts.
Calls: allocation_lock_providers.
Plan: leases_due_idx, one look if nothing is due; then keys for each consumer.';

--
-- Name: lease_renew(uuid[], integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.lease_renew(p_consumers uuid[], p_seconds integer) RETURNS TABLE(renewed_uuid uuid, renewed_seconds integer, renewed_expires_at timestamp with time zone, renewed_exists boolean)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_found record;
    v_now timestamptz;
BEGIN
    SELECT /* lease_renew 1/3 */ array_agg(consumer.id) AS ids, array_agg(requested.uuid) AS uuids,
        array_agg(consumer.leased) AS leased, array_agg(consumer.id) FILTER (WHERE consumer.leased) AS renewable
    INTO v_found
    FROM unnest(p_consumers) AS requested (uuid)
    CROSS JOIN LATERAL (SELECT one.id, one.leased FROM consumers AS one WHERE one.uuid = requested.uuid OFFSET 0) AS consumer;
    PERFORM /* lease_renew 2/3 */ FROM leases AS lease WHERE lease.consumer_id = ANY (v_found.renewable)
    ORDER BY lease.consumer_id FOR NO KEY UPDATE;
    v_now := clock_timestamp();
    RETURN QUERY WITH /* lease_renew 3/3 */ renewed AS (
        UPDATE leases AS lease SET seconds = coalesce(p_seconds, lease.seconds),
            expires_at = least(v_now + make_interval(secs => coalesce(p_seconds, lease.seconds)), lease.until),
            due = least(lease.due, v_now + make_interval(secs => coalesce(p_seconds, lease.seconds)))
        WHERE lease.consumer_id = ANY (v_found.renewable) AND lease.seconds IS NOT NULL
        RETURNING lease.consumer_id, lease.seconds, lease.expires_at
    )
    SELECT requested.uuid, renewed.seconds, renewed.expires_at,
        renewed.consumer_id IS NOT NULL OR found.id IS NOT NULL
            AND (NOT found.leased OR EXISTS (SELECT FROM consumers AS consumer WHERE consumer.id = found.id))
    FROM unnest(p_consumers) WITH ORDINALITY AS requested (uuid, position)
    LEFT JOIN unnest(v_found.uuids, v_found.ids, v_found.leased) AS found (uuid, id, leased) ON found.uuid = requested.uuid
    LEFT JOIN renewed ON renewed.consumer_id = found.id
    ORDER BY requested.position;
END
$$;

--
-- Name: FUNCTION lease_renew(p_consumers uuid[], p_seconds integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.lease_renew(p_consumers uuid[], p_seconds integer) IS 'POST /leases: renews the leases of consumers. Each renewal stands for itself.

p_seconds null: each lease keeps its length. Returns a row for each consumer, in the order of p_consumers: seconds and
expires_at of its lease afterwards, or null without a lease that can be renewed; and whether the consumer exists.
A renewal moves expires_at, also to an earlier time, but never past until. A lease that has expired and whose consumer is not
yet removed is renewed like any other. No generation changes.
Each answer was true at one moment of the call: a consumer that is deleted and created again meanwhile is one that was gone.
Locks: the leases in the order of the consumers'' ids; no consumer and no provider. A removal locks the leases last, and
compares expires_at then.
Plan: consumers_uuid_key and leases_pkey, a look-up for each consumer. due, which alone is in an index, changes only if a
lease gets shorter; otherwise the new row stays in its page (HOT).';

--
-- Name: leases; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.leases (
    consumer_id bigint NOT NULL,
    seconds integer,
    until timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    due timestamp with time zone NOT NULL,
    CONSTRAINT leases_end_check CHECK (((seconds IS NOT NULL) OR (until IS NOT NULL))),
    CONSTRAINT leases_expires_at_check CHECK (((due <= expires_at) AND ((until IS NULL) OR (expires_at <= until)))),
    CONSTRAINT leases_seconds_check CHECK (((seconds >= 1) AND (seconds <= 31536000)))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02');

--
-- Name: TABLE leases; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.leases IS 'Leases of consumers: a consumer is removed with its allocations at expires_at. The row is deleted with the consumer (trigger consumers_drop_lease). A foreign key would look here at each deletion of a consumer.';

--
-- Name: COLUMN leases.consumer_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.leases.consumer_id IS 'Consumer that has the lease.';

--
-- Name: COLUMN leases.seconds; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.leases.seconds IS 'Time from a write or renewal to expires_at; null: the lease cannot be renewed.';

--
-- Name: COLUMN leases.until; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.leases.until IS 'Time that expires_at never passes; null: none.';

--
-- Name: COLUMN leases.expires_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.leases.expires_at IS 'Time from which the consumer is removed. Changes with each renewal, so no index has it.';

--
-- Name: COLUMN leases.due; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.leases.due IS 'Time at which a server looks at expires_at, at most expires_at. Most renewals leave it.';

--
-- Name: lease_show(public.leases); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.lease_show(p_lease public.leases) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
SELECT /* lease_show 1/1 */ jsonb_build_object('seconds', p_lease.seconds, 'until', p_lease.until, 'expires_at', p_lease.expires_at)
$$;

--
-- Name: FUNCTION lease_show(p_lease public.leases); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.lease_show(p_lease public.leases) IS 'Returns a lease as JSON: seconds, until and expires_at.';

--
-- Name: lease_write(uuid[], jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.lease_write(p_consumers uuid[], p_leases jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_leases jsonb[] := array_fill(NULL::jsonb, ARRAY[cardinality(p_consumers)]);
    v_order int[] := ARRAY[1];
    v_position int;
    v_given jsonb;
    v_id bigint;
    v_leased bool;
    v_is_node bool;
    v_until timestamptz;
    v_expires_at timestamptz;
    v_lease jsonb;
BEGIN
    IF cardinality(p_consumers) > 1 THEN
        v_order := ARRAY(
            SELECT /* lease_write 1/8 */ requested.position::int FROM unnest(p_consumers) WITH ORDINALITY AS requested (uuid, position)
            ORDER BY (SELECT consumer.id FROM consumers AS consumer WHERE consumer.uuid = requested.uuid));
    END IF;
    FOREACH v_position IN ARRAY v_order LOOP
        v_given := nullif(p_leases -> v_position - 1, 'null');
        SELECT /* lease_write 2/8 */ consumer.id, consumer.leased,
            EXISTS (SELECT FROM node_allocations AS node_allocation WHERE node_allocation.uuid = consumer.uuid)
        INTO v_id, v_leased, v_is_node
        FROM consumers AS consumer WHERE consumer.uuid = p_consumers[v_position];
        IF v_given <> '{}' AND v_id IS NOT NULL THEN
            v_until := (v_given ->> 'until')::timestamptz;
            IF v_until IS NOT NULL OR v_is_node THEN
                PERFORM /* lease_write 3/8 */ lease_check(p_consumers[v_position], v_id, v_until);
            END IF;
            v_expires_at := least(clock_timestamp() + make_interval(secs => (v_given ->> 'seconds')::int), v_until);
            INSERT /* lease_write 4/8 */ INTO leases AS lease (consumer_id, seconds, until, expires_at, due)
            VALUES (v_id, (v_given ->> 'seconds')::int, v_until, v_expires_at, v_expires_at)
            ON CONFLICT (consumer_id) DO UPDATE SET seconds = excluded.seconds, until = excluded.until,
                expires_at = excluded.expires_at, due = least(lease.due, excluded.due)
            RETURNING lease_show(lease) INTO v_lease;
            v_leases[v_position] := v_lease;
            IF NOT v_leased THEN
                UPDATE /* lease_write 5/8 */ consumers SET leased = true WHERE id = v_id;
            END IF;
        ELSIF v_leased AND v_given = '{}' THEN
            DELETE /* lease_write 6/8 */ FROM leases WHERE consumer_id = v_id;
            UPDATE /* lease_write 7/8 */ consumers SET leased = false WHERE id = v_id;
        ELSIF v_leased THEN
            SELECT /* lease_write 8/8 */ lease_show(lease) INTO v_lease FROM leases AS lease WHERE lease.consumer_id = v_id;
            v_leases[v_position] := v_lease;
        END IF;
    END LOOP;
    RETURN to_jsonb(v_leases);
END
$$;

--
-- Name: FUNCTION lease_write(p_consumers uuid[], p_leases jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.lease_write(p_consumers uuid[], p_leases jsonb) IS 'Writes the leases of consumers after the write of their allocations, in the same statement, and returns all of them.

p_leases is a JSON array in the order of p_consumers. An element has seconds, until or both; {} takes the lease away, and null
leaves it as it is. A consumer that does not exist any more, because the write has taken its last allocation, gets none.
Returns the leases afterwards in the same order, as lease_show has them; null: none.
Raises PL080 and PL081, see lease_check.
Locks: the leases in the order of the consumers'' ids. The caller has locked the consumers and providers.
Calls: lease_check, if the request gives a lease with until, or to a consumer with the UUID of a node allocation.

A new consumer with a lease is one look at its row and two writes.';

--
-- Name: name_changes_count(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.name_changes_count() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE /* name_changes_count 1/1 */ name_changes SET changes = changes + 1;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION name_changes_count(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.name_changes_count() IS 'Trigger: counts the statements that rename or delete traits or resource classes, so that servers know when the
ids that they remember are no longer those of the names.

Locks: the only row of name_changes, until the transaction ends; it is the last lock of the functions that
delete and rename.';

--
-- Name: node_allocation_assign(public.node_allocations, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_assign(p_allocation public.node_allocations, p_node bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE /* node_allocation_assign 1/2 */ nodes AS node SET
        instance_uuid = p_allocation.uuid,
        details = node.details || jsonb_build_object('instance_info',
            CASE WHEN jsonb_typeof(node.details -> 'instance_info') = 'object'
                THEN node.details -> 'instance_info' ELSE '{}' END
            || jsonb_build_object('traits', node_allocation_required_traits(p_allocation.traits))),
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = p_node;
    UPDATE /* node_allocation_assign 2/2 */ node_allocations
        SET node_id = p_node, state = 'active', conductor_id = NULL, last_error = NULL,
        revision = revision + 1, updated_at = now()
    WHERE id = p_allocation.id;
END
$$;

--
-- Name: FUNCTION node_allocation_assign(p_allocation public.node_allocations, p_node bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_assign(p_allocation public.node_allocations, p_node bigint) IS 'Assigns a node to an allocation, and sets the allocation to active.

Raises 23505 (nodes_instance_uuid_key). The caller has locked both.';

--
-- Name: node_allocation_create(uuid, text, text, text[], uuid[], text[], jsonb, text, text, boolean, uuid, text, boolean, boolean, uuid, integer, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_create(p_uuid uuid, p_name text, p_class text, p_traits text[], p_candidate_uuids uuid[], p_candidate_names text[], p_extra jsonb, p_owner text, p_conductor text, p_backfill boolean, p_node_uuid uuid, p_node_name text, p_extended boolean, p_sticky boolean, p_batch uuid, p_minimum integer, p_quiet boolean) RETURNS SETOF public.node_allocations
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_candidates uuid[];
    v_unknown text[];
    v_node nodes;
    v_lacking text[];
    v_rule text;
    v_uuid uuid := p_uuid;
    v_made node_allocations;
BEGIN
    -- The UUIDs of the candidates, in the order of the request.
    SELECT /* node_allocation_create 1/12 */ coalesce(array_agg(found.uuid ORDER BY found.position), '{}'),
        array_agg(found.name ORDER BY found.position) FILTER (WHERE found.uuid IS NULL)
    INTO v_candidates, v_unknown
    FROM (
        SELECT requested.position, requested.name,
            CASE WHEN requested.uuid = '00000000-0000-0000-0000-000000000000'
                THEN (SELECT node.uuid FROM nodes AS node WHERE node.name = requested.name)
                ELSE (SELECT node.uuid FROM nodes AS node WHERE node.uuid = requested.uuid) END AS uuid
        FROM unnest(p_candidate_uuids, p_candidate_names) WITH ORDINALITY AS requested (uuid, name, position)
    ) AS found;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no nodes %', v_unknown USING ERRCODE = 'PL043',
            DETAIL = json_build_object('node', array_to_string(v_unknown, ', '));
    END IF;

    -- Whether a node in use can be backfilled.
    IF p_backfill THEN
        IF (SELECT /* node_allocation_create 2/12 */ backend.placement FROM baremetal_backend AS backend) THEN
            PERFORM /* node_allocation_create 3/12 */ node_provider_ensure_owner(p_owner);
        END IF;
        SELECT /* node_allocation_create 4/12 */ node.* INTO v_node FROM nodes AS node
        WHERE node.uuid = p_node_uuid OR node.name = p_node_name FOR UPDATE;
        v_lacking := node_allocation_unmet_traits(v_node.id, p_traits);
        v_rule := CASE
            WHEN v_node.id IS NULL THEN 'PL030'
            WHEN v_node.instance_uuid <> p_uuid THEN 'PL032'
            WHEN v_node.provision_state <> 'active' THEN 'PL046'
            WHEN v_node.resource_class IS DISTINCT FROM coalesce(p_class, v_node.resource_class) THEN 'PL047'
            WHEN cardinality(v_lacking) > 0 THEN 'PL048'
            WHEN cardinality(v_candidates) > 0 AND v_node.uuid <> ALL (v_candidates) THEN 'PL049'
        END;
        IF v_rule IS NOT NULL THEN
            RAISE EXCEPTION 'node % cannot be backfilled', coalesce(p_node_uuid::text, p_node_name)
                USING ERRCODE = v_rule,
                DETAIL = json_build_object('node', coalesce(v_node.uuid::text, p_node_uuid::text, p_node_name),
                    'state', v_node.provision_state, 'instance', v_node.instance_uuid, 'class', v_node.resource_class,
                    'traits', array_to_string(v_lacking, ', '), 'allocation', p_uuid);
        END IF;
        v_uuid := coalesce(p_uuid, v_node.instance_uuid);
    END IF;
    v_uuid := coalesce(v_uuid, gen_random_uuid());
    IF EXISTS (SELECT /* node_allocation_create 5/12 */ FROM nodes AS node
        WHERE node.instance_uuid = v_uuid AND node.id IS DISTINCT FROM v_node.id) THEN
        RAISE EXCEPTION 'instance % has a node already', v_uuid USING ERRCODE = 'PL042',
            DETAIL = json_build_object('allocation', v_uuid, 'instance', v_uuid,
                'node', (SELECT /* node_allocation_create 6/12 */ node.uuid FROM nodes AS node
                    WHERE node.instance_uuid = v_uuid));
    END IF;

    INSERT /* node_allocation_create 7/12 */ INTO node_allocations (uuid, name, resource_class, traits,
        candidate_nodes, extra, owner,
        extended, sticky, batch_uuid, batch_minimum, conductor_id)
    VALUES (v_uuid, p_name, coalesce(p_class, v_node.resource_class, ''), p_traits, v_candidates, p_extra, p_owner,
        p_extended, p_sticky, p_batch, p_minimum,
        CASE WHEN NOT p_backfill THEN (SELECT conductor.id FROM conductors AS conductor
            WHERE conductor.hostname = p_conductor) END)
    RETURNING * INTO v_made;
    IF p_backfill THEN
        IF (SELECT /* node_allocation_create 8/12 */ backend.placement FROM baremetal_backend AS backend) THEN
            PERFORM /* node_allocation_create 9/12 */ node_provider_claim(v_made, v_node.id, true);
        END IF;
        PERFORM /* node_allocation_create 10/12 */ node_allocation_assign(v_made, v_node.id);
    ELSIF NOT p_quiet THEN
        PERFORM /* node_allocation_create 11/12 */ pg_notify('berth_node_allocation_pending', v_uuid::text);
    END IF;
    RETURN QUERY SELECT /* node_allocation_create 12/12 */ made.* FROM node_allocations AS made
        WHERE made.id = v_made.id;
END
$$;

--
-- Name: FUNCTION node_allocation_create(p_uuid uuid, p_name text, p_class text, p_traits text[], p_candidate_uuids uuid[], p_candidate_names text[], p_extra jsonb, p_owner text, p_conductor text, p_backfill boolean, p_node_uuid uuid, p_node_name text, p_extended boolean, p_sticky boolean, p_batch uuid, p_minimum integer, p_quiet boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_create(p_uuid uuid, p_name text, p_class text, p_traits text[], p_candidate_uuids uuid[], p_candidate_names text[], p_extra jsonb, p_owner text, p_conductor text, p_backfill boolean, p_node_uuid uuid, p_node_name text, p_extended boolean, p_sticky boolean, p_batch uuid, p_minimum integer, p_quiet boolean) IS 'POST /v1/allocations: creates an allocation that the conductor p_conductor will process.

p_uuid null: a new UUID, or with p_backfill the node''s instance_uuid. p_candidate_uuids and
p_candidate_names are parallel: the only nodes to choose from, in the order of the request. If a
UUID is the nil UUID, its name counts. p_conductor is a hostname. If it never registered, the first conductor
that takes over work processes the allocation. Notifies berth_node_allocation_pending, unless p_quiet:
the caller is the process of the conductor and passes the UUID to it directly. PostgreSQL serializes the
commits of transactions that execute NOTIFY, so each one waits for the WAL flush of the one before it.

p_backfill: the node p_node_uuid or p_node_name (the other is null) is in use already, and the allocation
is active at once. Then p_uuid null means the node''s instance_uuid, and p_class null means the node''s
class.
p_extended, p_sticky, p_batch, p_minimum: see the columns. One transaction creates all members of a
batch, so the conductor that processes the first one sees all of them.

Returns the allocation. Raises, in this order: PL043 (candidates that do not exist, all of them named);
with p_backfill PL030 (no such node), PL032 (it is another instance''s), PL046 (it is not active), PL047
(not of this class), PL048 (it lacks traits, named) and PL049 (it is not among the candidates); PL042
(the UUID is the instance_uuid of a node), 23505 (node_allocations_uuid_key, node_allocations_name_key);
and with p_backfill what node_provider_claim raises. A call that raises writes nothing.
Locks: with p_backfill the project, then the node; otherwise nothing.
Calls, with p_backfill: node_provider_ensure_owner before the node is locked (if nodes are providers),
node_allocation_unmet_traits, node_provider_claim (if nodes are providers), node_allocation_assign.';

--
-- Name: node_allocation_decide(public.node_allocations, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_decide(p_allocation public.node_allocations, p_unit integer) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_named bigint := (SELECT /* node_allocation_decide 1/5 */ node.id FROM nodes AS node
        WHERE node.name = p_allocation.name);
    v_prefiltered bigint[];
    v_trait text;
    v_nodes bigint[];
    v_first bigint;
    v_last bigint := 9223372036854775807;
    v_before bigint;
    v_results text[] := '{}'::text[];
    v_constraint text;
BEGIN
    -- The only nodes that can match, if they are few.
    IF cardinality(p_allocation.candidate_nodes) > 0 THEN
        v_prefiltered := ARRAY(
            SELECT /* node_allocation_decide 2/5 */ node.id FROM nodes AS node
            WHERE node.uuid = ANY (p_allocation.candidate_nodes) ORDER BY node.id);
    ELSE
        FOREACH v_trait IN ARRAY node_allocation_required_traits(p_allocation.traits) LOOP
            v_nodes := ARRAY(
                SELECT /* node_allocation_decide 3/5 */ existing.node_id FROM node_traits AS existing
                WHERE existing.trait = v_trait
                ORDER BY existing.trait, existing.node_id LIMIT 257);
            IF cardinality(v_nodes) < least(cardinality(v_prefiltered), 257) THEN
                v_prefiltered := v_nodes;
            END IF;
        END LOOP;
    END IF;

    -- The random position: among these nodes, or between the first and the last free node of the class.
    IF v_prefiltered IS NOT NULL THEN
        v_before := v_prefiltered[1 + floor(random() * cardinality(v_prefiltered))::int] - 1;
    ELSE
        v_last := (
            SELECT /* node_allocation_decide 4/5 */ node.id FROM nodes AS node
            WHERE (node.resource_class, node.id) > (p_allocation.resource_class, 0)
              AND (node.resource_class, node.id) <= (p_allocation.resource_class, 9223372036854775807)
              AND node.provision_state = 'available' AND node.instance_uuid IS NULL
              AND NOT node.maintenance AND node.power_state IS NOT NULL
            ORDER BY node.resource_class DESC, node.id DESC
            LIMIT 1);
        v_first := (
            SELECT /* node_allocation_decide 5/5 */ node.id FROM nodes AS node
            WHERE (node.resource_class, node.id) > (p_allocation.resource_class, 0)
              AND (node.resource_class, node.id) <= (p_allocation.resource_class, v_last)
              AND node.provision_state = 'available' AND node.instance_uuid IS NULL
              AND NOT node.maintenance AND node.power_state IS NOT NULL
            ORDER BY node.resource_class, node.id
            LIMIT 1);
        v_before := v_first - 1 + floor(random() * (v_last - v_first + 1))::bigint;
    END IF;

    IF v_named IS NOT NULL THEN
        v_results := v_results || node_allocation_try_nodes(p_allocation, p_unit, ARRAY[v_named], 0, v_named, false);
    END IF;
    IF NOT v_results && '{done}' AND v_before IS NOT NULL THEN
        v_results := v_results || node_allocation_try_nodes(p_allocation, p_unit, v_prefiltered, v_before, v_last,
            false);
    END IF;
    IF NOT v_results && '{done}' AND v_before IS NOT NULL THEN
        v_results := v_results || node_allocation_try_nodes(p_allocation, p_unit, v_prefiltered, 0, v_before, false);
    END IF;
    -- The transactions that had locked nodes may have rolled back.
    IF NOT v_results && '{done}' AND v_results && '{locked}' THEN
        v_results := v_results || node_allocation_try_nodes(p_allocation, p_unit, v_prefiltered, 0, v_last, true);
    END IF;
    IF v_results && '{done}' THEN
        RETURN NULL;
    END IF;
    RETURN node_allocation_failure_reason(p_allocation, p_unit, p_allocation.extended);
EXCEPTION
    WHEN SQLSTATE 'PL050' THEN
        RETURN format(': Consumer %s has allocations in Placement already', p_allocation.uuid);
    WHEN unique_violation THEN
        GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
        IF v_constraint <> 'nodes_instance_uuid_key' THEN
            RAISE;
        END IF;
        RETURN format(': Unexpected exception during allocation: Instance %s is already associated with a node',
            p_allocation.uuid);
END
$$;

--
-- Name: FUNCTION node_allocation_decide(p_allocation public.node_allocations, p_unit integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_decide(p_allocation public.node_allocations, p_unit integer) IS 'Assigns a node to an allocation, or returns the reason why it cannot.

Null: the allocation has a node, or is no longer pending. A text: the stage that no node passes (see
node_allocation_failure_reason; empty if a consumer or an instance with its UUID is the reason), a colon,
a space, and the reason.

It tries the node with the name of the allocation, then nodes that match, from a random position to the
end and then from the start to that position, without waiting for locks. If other transactions had locked
some of them, it tries all matching nodes once more in the order of their ids and waits for each lock,
because the transaction that holds it may roll back. So every node that matches when this call begins is
assigned, by this call or by another one.

The set of nodes to try is small if the allocation names candidates or if one of its traits is rare. Then
it tries the candidates, or the nodes with the rarest trait if these are 256 or fewer. Otherwise it tries
the free nodes of the class.

PL050 and 23505 (nodes_instance_uuid_key) become reasons. Raises only 40001, if the setting whether nodes
are providers changed meanwhile.
Locks: as node_allocation_try_nodes, one node at a time. It releases the locks of a node that does not
match before it tries the next one.
Calls: node_allocation_required_traits, then node_allocation_try_nodes (up to four times: by name, from
the random position, up to it, waiting), then node_allocation_failure_reason.
Plan: nodes_uuid_key for candidates; for each trait up to 257 entries of node_traits_trait_idx; otherwise
one entry from each end of nodes_free_idx (see node_allocation_try_nodes for the comparison of the
class).
Cost: a few pages of nodes_free_idx, for any number of nodes. With common traits, with an owner, or if
many units are claimed through Placement: up to all free nodes of the class.';

--
-- Name: node_allocation_delete(uuid, text, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_delete(p_uuid uuid, p_name text, p_of_node boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_ident text := coalesce(p_uuid::text, p_name);
    v_found node_allocations;
    v_locked node_allocations;
    v_node nodes;
    v_rule text;
BEGIN
    IF p_of_node THEN
        SELECT /* node_allocation_delete 1/9 */ node.* INTO v_node FROM nodes AS node
        WHERE node.uuid = p_uuid OR node.name = p_name FOR UPDATE;
        SELECT /* node_allocation_delete 2/9 */ allocation.* INTO v_found FROM node_allocations AS allocation
        WHERE allocation.node_id = v_node.id;
    ELSE
        SELECT /* node_allocation_delete 3/9 */ allocation.* INTO v_found FROM node_allocations AS allocation
        WHERE allocation.uuid = p_uuid OR allocation.name = p_name;
        SELECT /* node_allocation_delete 4/9 */ node.* INTO v_node FROM nodes AS node
        WHERE node.id = v_found.node_id FOR UPDATE;
    END IF;
    SELECT /* node_allocation_delete 5/9 */ allocation.* INTO v_locked FROM node_allocations AS allocation
    WHERE allocation.id = v_found.id FOR UPDATE;
    IF v_locked.node_id IS DISTINCT FROM v_found.node_id AND v_locked.id IS NOT NULL THEN
        RAISE EXCEPTION 'allocation % was assigned a node concurrently', v_locked.uuid USING ERRCODE = '40001';
    END IF;
    v_rule := CASE
        WHEN p_of_node AND v_node.id IS NULL THEN 'PL030'
        WHEN v_locked.id IS NULL THEN 'PL041'
        WHEN v_node.maintenance THEN NULL
        WHEN v_node.provision_state = 'active' THEN 'PL044'
        WHEN v_node.target_provision_state IS NOT NULL AND v_node.provision_state NOT IN (
            'deploy failed', 'inspecting', 'inspect failed', 'inspect wait', 'clean failed', 'error', 'verifying',
            'adopt failed', 'rescue failed', 'unrescue failed') THEN 'PL045'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'allocation % cannot be deleted', v_ident USING ERRCODE = v_rule,
            DETAIL = json_build_object('allocation',
                coalesce(v_locked.uuid::text, CASE WHEN NOT p_of_node THEN v_ident END),
                'node', coalesce(v_node.uuid::text, CASE WHEN p_of_node THEN v_ident END),
                'state', CASE WHEN v_rule <> 'PL041' THEN v_node.provision_state END);
    END IF;

    -- A client may wait for its result.
    IF v_locked.extended AND v_locked.state = 'allocating' THEN
        PERFORM /* node_allocation_delete 6/9 */ pg_notify('berth_node_allocation_decided', v_locked.uuid::text);
    END IF;
    IF v_node.id IS NULL THEN
        DELETE /* node_allocation_delete 7/9 */ FROM node_allocations WHERE id = v_locked.id;
        RETURN;
    END IF;
    PERFORM /* node_allocation_delete 8/9 */ node_allocation_release(v_node.id);
    UPDATE /* node_allocation_delete 9/9 */ nodes SET instance_uuid = NULL, revision = revision + 1, updated_at = now()
    WHERE id = v_node.id;
END
$$;

--
-- Name: FUNCTION node_allocation_delete(p_uuid uuid, p_name text, p_of_node boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_delete(p_uuid uuid, p_name text, p_of_node boolean) IS 'DELETE /v1/allocations/{allocation}, by UUID or name (the other is null), or, with p_of_node, DELETE
/v1/nodes/{node}/allocation, by the UUID or name of the node. Releases the node of the allocation.
Notifies berth_node_allocation_decided if the allocation is extended and was pending.

A pending allocation is deleted; the conductor that processes it later finds no row.
Raises PL030 (no such node), PL041 (no such allocation; the node has none), and unless the node is in
maintenance PL044 (it is active) and PL045 (it is in a transition and must not be changed). 40001: a
conductor assigned a node meanwhile.
Locks: the node FOR UPDATE, the allocation FOR UPDATE, then as node_allocation_release.
Calls: node_allocation_release, if it has a node; the update of the node fires
node_provider_sync_trigger.';

--
-- Name: node_allocation_failure_reason(public.node_allocations, integer, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_failure_reason(p_allocation public.node_allocations, p_unit integer, p_detailed boolean) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_any node_allocations := p_allocation;
    v_owned node_allocations := p_allocation;
    v_free bigint[] := ARRAY(
        SELECT /* node_allocation_failure_reason 1/3 */ node.id FROM nodes AS node
        WHERE node.resource_class = p_allocation.resource_class AND node.provision_state = 'available'
          AND node.instance_uuid IS NULL AND NOT node.maintenance AND node.power_state IS NOT NULL);
    v_allowed bigint[];
    v_fitting bigint[];
    v_unclaimed bigint[];
    v_stage text;
    v_reason text;
BEGIN
    v_any.traits := '{}';
    v_allowed := node_allocation_matching_nodes(v_any, NULL, v_free);
    v_owned.traits := '{}';
    v_owned.candidate_nodes := '{}';
    v_fitting := node_allocation_matching_nodes(p_allocation, NULL, v_allowed);
    v_unclaimed := node_allocation_matching_nodes(p_allocation, p_unit, v_fitting);
    v_stage := CASE
        WHEN v_free = '{}' AND EXISTS (SELECT /* node_allocation_failure_reason 2/3 */ FROM nodes AS node
            WHERE node.resource_class = p_allocation.resource_class) THEN 'busy'
        WHEN v_free = '{}' THEN 'class'
        WHEN v_allowed = '{}' AND node_allocation_matching_nodes(v_owned, NULL, v_free) = '{}' THEN 'owner'
        WHEN v_allowed = '{}' THEN 'candidate_nodes'
        WHEN v_fitting = '{}' THEN 'traits'
        WHEN v_unclaimed = '{}' THEN 'claimed'
        ELSE 'busy'
    END;
    v_reason := CASE
        WHEN v_allowed = '{}' AND p_allocation.candidate_nodes = '{}' THEN
            format('no available nodes match the resource class %s', p_allocation.resource_class)
        WHEN v_allowed = '{}' THEN
            format('none of the requested nodes are available and match the resource class %s',
                p_allocation.resource_class)
        WHEN v_fitting = '{}' THEN
            format('no suitable nodes have the requested traits %s', array_to_string(p_allocation.traits, ', '))
        WHEN v_unclaimed = '{}' THEN
            format('could not reserve any of %s suitable nodes', cardinality(v_fitting))
        ELSE 'all nodes were filtered out during reservation'
    END;
    IF NOT p_detailed THEN
        RETURN format('%s: %s', v_stage, v_reason);
    END IF;
    RETURN format('%s: %s (nodes of the class: %s; available, powered, without instance and maintenance: %s; '
        'of these allowed by owner and candidates: %s; with the traits: %s; not claimed through Placement: %s)',
        v_stage, v_reason, (SELECT /* node_allocation_failure_reason 3/3 */ count(*) FROM nodes AS node
            WHERE node.resource_class = p_allocation.resource_class),
        cardinality(v_free), cardinality(v_allowed), cardinality(v_fitting),
        cardinality(v_unclaimed));
END
$$;

--
-- Name: FUNCTION node_allocation_failure_reason(p_allocation public.node_allocations, p_unit integer, p_detailed boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_failure_reason(p_allocation public.node_allocations, p_unit integer, p_detailed boolean) IS 'Returns why no node could be assigned: the first stage that no node passes (class, busy, owner,
candidate_nodes, traits, claimed), a colon, a space, and the phrase that clients match. If other
transactions released nodes meanwhile, the stage is busy.

Reads the current nodes. p_detailed: adds the number of nodes of the class, and the number that is left
after each filter. Locks nothing. Plan: nodes_free_idx; without free nodes a scan of nodes up to the first
one of the class; p_detailed: a scan of nodes, only on request of a client.';

--
-- Name: node_allocation_matching_nodes(public.node_allocations, integer, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_matching_nodes(p_allocation public.node_allocations, p_unit integer, p_nodes bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_plain text[] := node_allocation_required_traits(p_allocation.traits);
    v_traits bigint := (SELECT /* node_allocation_matching_nodes 1/2 */ count(DISTINCT requested.trait)
        FROM unnest(v_plain) AS requested (trait));
    v_others bool := cardinality(v_plain) < cardinality(p_allocation.traits);
BEGIN
    RETURN ARRAY(
        SELECT /* node_allocation_matching_nodes 2/2 */ node.id FROM nodes AS node
        WHERE node.id = ANY (p_nodes) AND node.resource_class = p_allocation.resource_class
          AND node.provision_state = 'available' AND node.instance_uuid IS NULL
          AND NOT node.maintenance AND node.power_state IS NOT NULL
          AND (p_allocation.candidate_nodes = '{}' OR node.uuid = ANY (p_allocation.candidate_nodes))
          AND (p_allocation.owner IS NULL OR node.owner = p_allocation.owner OR node.lessee = p_allocation.owner)
          AND (v_traits = 0 OR v_traits = (
                SELECT count(*) FROM node_traits AS existing
                WHERE existing.node_id = node.id AND existing.trait = ANY (v_plain)))
          AND (NOT v_others OR node_allocation_unmet_traits(node.id, p_allocation.traits) = '{}')
          AND (p_unit IS NULL OR 1 <= (
                SELECT unit.free FROM inventories AS unit
                WHERE unit.class_id = p_unit AND unit.provider_id = (
                    SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = node.uuid)))
        ORDER BY node.id);
END
$$;

--
-- Name: FUNCTION node_allocation_matching_nodes(p_allocation public.node_allocations, p_unit integer, p_nodes bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_matching_nodes(p_allocation public.node_allocations, p_unit integer, p_nodes bigint[]) IS 'Returns those of the given nodes that can be assigned to an allocation now, in the order of their ids.

p_unit: null if nodes are not providers; otherwise the id of the class of which each has a unit (-1:
there is none), and the unit must be free too. Called before a node is locked, and again afterwards: no
other function decides whether a node matches. Locks nothing.
Calls: node_allocation_required_traits, and node_allocation_unmet_traits for other expressions.
Plan: keys for each node. The subqueries are scalar, so that every plan uses index lookups.';

--
-- Name: node_allocation_process(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_process(p_uuid uuid, p_conductor text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM /* node_allocation_process 1/1 */ node_allocation_process_counted(p_uuid, p_conductor);
END
$$;

--
-- Name: FUNCTION node_allocation_process(p_uuid uuid, p_conductor text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_process(p_uuid uuid, p_conductor text) IS 'Processes an allocation. See node_allocation_process_counted.

Servers of earlier versions call it; a later migration drops it.
Locks: as node_allocation_process_counted. Raises 40001, as that.
Calls: node_allocation_process_counted.';

--
-- Name: node_allocation_process_counted(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_process_counted(p_uuid uuid, p_conductor text) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_allocation node_allocations;
    v_class text;  -- name in Placement; computed once, and not for each class that is compared
    v_unit int;  -- null: nodes are not providers; -1: no node ever had a unit of this class
    v_members node_allocations[];
    v_member node_allocations;
    v_ids bigint[];
    v_reasons text[] := '{}'::text[];
    v_assigned int := 0;
    v_short text;
    v_reason text;
    v_stage text;
    v_first text;
    v_stages text[] := '{}'::text[];
BEGIN
    SELECT /* node_allocation_process_counted 1/12 */ allocation.* INTO v_allocation FROM node_allocations AS allocation
    WHERE allocation.uuid = p_uuid AND allocation.state = 'allocating' AND allocation.conductor_id = (
        SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor);
    IF NOT FOUND THEN
        RETURN v_stages;
    END IF;
    IF (SELECT /* node_allocation_process_counted 2/12 */ backend.placement FROM baremetal_backend AS backend) THEN
        v_class := node_provider_class_name(v_allocation.resource_class);
        v_unit := coalesce((SELECT /* node_allocation_process_counted 3/12 */ class.id FROM resource_classes AS class
            WHERE class.name = v_class), -1);
        PERFORM /* node_allocation_process_counted 4/12 */ node_provider_ensure_owner(v_allocation.owner);
    END IF;

    IF v_allocation.batch_uuid IS NULL THEN
        v_members := ARRAY[v_allocation];
        v_ids := ARRAY[v_allocation.id];
        v_reasons := ARRAY[node_allocation_decide(v_allocation, v_unit)];
    ELSE
        PERFORM /* node_allocation_process_counted 5/12 */ pg_advisory_xact_lock(
            hashtextextended('node allocation batch ' || v_allocation.batch_uuid, 0));
        v_ids := ARRAY(
            SELECT /* node_allocation_process_counted 6/12 */ member.id FROM node_allocations AS member
            WHERE member.conductor_id = v_allocation.conductor_id AND member.state = 'allocating'
              AND member.batch_uuid = v_allocation.batch_uuid
            ORDER BY member.id);
        BEGIN
            FOR v_member IN SELECT /* node_allocation_process_counted 7/12 */ member.* FROM node_allocations AS member
                WHERE member.id = ANY (v_ids) ORDER BY member.id LOOP
                v_reasons := v_reasons || node_allocation_decide(v_member, v_unit);
            END LOOP;
            -- Count them, because a member that was deleted meanwhile is no longer pending.
            v_assigned := (SELECT /* node_allocation_process_counted 8/12 */ count(*) FROM node_allocations AS member
                WHERE member.id = ANY (v_ids) AND member.state = 'active');
            IF v_assigned < v_allocation.batch_minimum THEN
                RAISE no_data_found;
            END IF;
        EXCEPTION
            WHEN no_data_found THEN
                v_first := (SELECT /* node_allocation_process_counted 9/12 */ failed.reason
                    FROM unnest(v_reasons) AS failed (reason) WHERE failed.reason IS NOT NULL LIMIT 1);
                v_short := format('%s: only %s of at least %s nodes could be reserved for the batch: %s',
                    split_part(v_first, ': ', 1), v_assigned, v_allocation.batch_minimum,
                    coalesce(substr(v_first, strpos(v_first, ': ') + 2), 'the others were deleted'));
        END;
        v_members := ARRAY(SELECT /* node_allocation_process_counted 10/12 */ member FROM node_allocations AS member
            WHERE member.id = ANY (v_ids) ORDER BY member.id);
    END IF;

    FOREACH v_member IN ARRAY v_members LOOP
        v_reason := coalesce(v_short, v_reasons[array_position(v_ids, v_member.id)]);
        IF v_reason IS NOT NULL THEN
            v_stage := split_part(v_reason, ': ', 1);
            UPDATE /* node_allocation_process_counted 11/12 */ node_allocations
                SET state = 'error', conductor_id = NULL, revision = revision + 1, updated_at = now(),
                last_error = format('Failed to process allocation %s: %s.', v_member.uuid,
                    substr(v_reason, strpos(v_reason, ': ') + 2))
            WHERE id = v_member.id AND state = 'allocating' AND conductor_id = v_allocation.conductor_id;
            IF FOUND AND v_stage <> '' THEN
                v_stages := v_stages || v_stage;
            END IF;
        END IF;
        IF v_member.extended THEN
            PERFORM /* node_allocation_process_counted 12/12 */ pg_notify('berth_node_allocation_decided', v_member.uuid::text);
        END IF;
    END LOOP;
    RETURN v_stages;
END
$$;

--
-- Name: FUNCTION node_allocation_process_counted(p_uuid uuid, p_conductor text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_process_counted(p_uuid uuid, p_conductor text) IS 'Processes an allocation, and with a member of a batch all other members. One transaction, and so one
call, per allocation or batch. Returns the stage that no node passes of each allocation that is in error
for want of a node (see node_allocation_failure_reason), for a metric.

p_conductor is the hostname of the caller. Does nothing unless the allocation is pending and assigned to
this conductor. Otherwise the allocation is active afterwards, or in error with the reason.

A batch: if fewer members than the minimum would get a node, none does, and all are in error. Otherwise
only the members without a node are. If several conductors took over the members of a dead conductor,
each processes its part with the whole minimum, so no part has fewer.

Notifies berth_node_allocation_decided of the UUID of each extended allocation that it processed: a
client may wait. Raises only 40001, if the setting whether nodes are providers changed meanwhile.
Locks: the project, if nodes are providers; a batch with an advisory lock until the end of the
transaction, so that its members, of which each conductor is notified separately, are processed once;
then as node_allocation_decide. With a batch it holds locks of nodes while it waits for the next one: two
batches, or a batch and a writer of several providers, may deadlock. The store retries the one that
PostgreSQL aborts.
Calls: node_provider_ensure_owner (if nodes are providers), node_allocation_decide for each allocation in
the order of their ids.';

--
-- Name: node_allocation_release(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_release(p_node bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked node_allocations;
BEGIN
    SELECT /* node_allocation_release 1/4 */ allocation.* INTO v_locked FROM node_allocations AS allocation
    WHERE allocation.node_id = p_node FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- This does not depend on the current backend: nodes may have been providers before. A consumer
    -- without an allocation on this node has the UUID by coincidence.
    IF EXISTS (
        SELECT /* node_allocation_release 2/4 */ FROM consumers AS consumer
        JOIN allocations AS claimed ON claimed.consumer_id = consumer.id
        JOIN resource_providers AS provider ON provider.id = claimed.provider_id
        JOIN nodes AS node ON node.uuid = provider.uuid
        WHERE consumer.uuid = v_locked.uuid AND node.id = p_node
    ) THEN
        PERFORM /* node_allocation_release 3/4 */ allocation_delete_checked(v_locked.uuid, NULL);
    END IF;
    DELETE /* node_allocation_release 4/4 */ FROM node_allocations WHERE id = v_locked.id;
END
$$;

--
-- Name: FUNCTION node_allocation_release(p_node bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_release(p_node bigint) IS 'Deletes a node''s allocation, if it has one, together with its claim in Placement.

The caller clears the node''s instance_uuid afterwards: that update may lock the node''s provider, and the
lock order has consumers first. Claims of other consumers stay.
Locks: the allocation FOR UPDATE, then as allocation_delete_checked. The caller has locked the node. Idempotent.
Calls: allocation_delete_checked, if the allocation''s consumer has claimed the node''s unit.';

--
-- Name: node_allocation_required_traits(text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_required_traits(p_traits text[]) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* node_allocation_required_traits 1/1 */ requested.trait
        FROM unnest(p_traits) WITH ORDINALITY AS requested (trait, position)
        WHERE requested.trait NOT LIKE '!%' AND requested.trait NOT LIKE 'in:%'
        ORDER BY requested.position);
END
$$;

--
-- Name: FUNCTION node_allocation_required_traits(p_traits text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_required_traits(p_traits text[]) IS 'Returns the traits that a node must have, out of the trait expressions of an allocation. It omits
forbidden traits (!NAME) and any-of lists (in:NAME,NAME).
It is written in PL/pgSQL, because PostgreSQL plans an SQL function again in every transaction.';

--
-- Name: node_allocation_retry(uuid, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_retry(p_uuid uuid, p_name text, p_conductor text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked node_allocations;
BEGIN
    SELECT /* node_allocation_retry 1/3 */ allocation.* INTO v_locked FROM node_allocations AS allocation
    WHERE allocation.uuid = p_uuid OR allocation.name = p_name
    FOR UPDATE;
    IF v_locked.state IS DISTINCT FROM 'error' THEN
        RAISE EXCEPTION 'allocation % cannot be retried', coalesce(p_uuid::text, p_name)
            USING ERRCODE = CASE WHEN v_locked.id IS NULL THEN 'PL041' ELSE 'PL052' END,
            DETAIL = json_build_object('allocation', coalesce(v_locked.uuid::text, p_uuid::text, p_name), 'state',
                v_locked.state);
    END IF;
    UPDATE /* node_allocation_retry 2/3 */ node_allocations
        SET state = 'allocating', last_error = NULL, extended = true, batch_uuid = NULL, batch_minimum = NULL,
        conductor_id = (SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor),
        revision = revision + 1, updated_at = now()
    WHERE id = v_locked.id;
    PERFORM /* node_allocation_retry 3/3 */ pg_notify('berth_node_allocation_pending', v_locked.uuid::text);
END
$$;

--
-- Name: FUNCTION node_allocation_retry(p_uuid uuid, p_name text, p_conductor text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_retry(p_uuid uuid, p_name text, p_conductor text) IS 'POST /v1/allocations/{allocation}/retry: sets an allocation in error, by its UUID or name (the other is null),
to pending again, for p_conductor. It leaves its batch.

Notifies berth_node_allocation_pending. Raises PL041 (no such allocation), PL052 (it is not in error).
Locks: its row.';

--
-- Name: node_allocation_try_nodes(public.node_allocations, integer, bigint[], bigint, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_try_nodes(p_allocation public.node_allocations, p_unit integer, p_prefiltered bigint[], p_after bigint, p_to bigint, p_wait boolean) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_after bigint := p_after;
    v_page bigint[];
    v_node bigint;
    v_result text := 'none';
BEGIN
    LOOP
        IF p_prefiltered IS NOT NULL THEN
            v_page := ARRAY(
                SELECT /* node_allocation_try_nodes 1/8 */ prefiltered.id FROM unnest(p_prefiltered) AS prefiltered (id)
                WHERE prefiltered.id > p_after AND prefiltered.id <= p_to);
        ELSE
            v_page := ARRAY(
                SELECT /* node_allocation_try_nodes 2/8 */ node.id FROM nodes AS node
                WHERE (node.resource_class, node.id) > (p_allocation.resource_class, v_after)
                  AND (node.resource_class, node.id) <= (p_allocation.resource_class, p_to)
                  AND node.provision_state = 'available' AND node.instance_uuid IS NULL
                  AND NOT node.maintenance AND node.power_state IS NOT NULL
                ORDER BY node.resource_class, node.id
                LIMIT 16);
        END IF;
        FOREACH v_node IN ARRAY node_allocation_matching_nodes(p_allocation, p_unit, v_page) LOOP
            BEGIN
                IF p_wait THEN
                    PERFORM /* node_allocation_try_nodes 3/8 */ FROM nodes AS node WHERE node.id = v_node FOR UPDATE;
                ELSE
                    PERFORM /* node_allocation_try_nodes 4/8 */ FROM nodes AS node
                    WHERE node.id = v_node FOR UPDATE SKIP LOCKED;
                    IF NOT FOUND THEN
                        v_result := 'locked';
                        CONTINUE;
                    END IF;
                END IF;
                IF (SELECT /* node_allocation_try_nodes 5/8 */ backend.placement
                    FROM baremetal_backend AS backend) <> (p_unit IS NOT NULL) THEN
                    RAISE EXCEPTION 'the backend was changed concurrently' USING ERRCODE = '40001';
                END IF;
                IF node_allocation_matching_nodes(p_allocation, p_unit, ARRAY[v_node]) = '{}' THEN
                    RAISE no_data_found;
                END IF;
                PERFORM /* node_allocation_try_nodes 6/8 */ FROM node_allocations AS allocation
                WHERE allocation.id = p_allocation.id AND allocation.state = 'allocating'
                  AND allocation.conductor_id = p_allocation.conductor_id
                FOR UPDATE;
                IF FOUND THEN
                    IF p_unit IS NOT NULL THEN
                        PERFORM /* node_allocation_try_nodes 7/8 */ node_provider_claim(p_allocation, v_node, false);
                    END IF;
                    PERFORM /* node_allocation_try_nodes 8/8 */ node_allocation_assign(p_allocation, v_node);
                END IF;
                RETURN 'done';
            EXCEPTION
                WHEN no_data_found OR SQLSTATE 'PL009' OR SQLSTATE 'PL010' OR SQLSTATE 'PL012' THEN NULL;
            END;
        END LOOP;
        EXIT WHEN p_prefiltered IS NOT NULL OR cardinality(v_page) < 16;
        v_after := v_page[16];
    END LOOP;
    RETURN v_result;
END
$$;

--
-- Name: FUNCTION node_allocation_try_nodes(p_allocation public.node_allocations, p_unit integer, p_prefiltered bigint[], p_after bigint, p_to bigint, p_wait boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_try_nodes(p_allocation public.node_allocations, p_unit integer, p_prefiltered bigint[], p_after bigint, p_to bigint, p_wait boolean) IS 'Tries to assign nodes with an id above p_after and up to p_to, in the order of their ids:
p_prefiltered, or the free ones of the class, in pages of 16.

Returns "done": it assigned one, or the allocation is no longer pending (deleted or taken over);
"locked": it assigned none, and other transactions had locked matching nodes (never with p_wait); "none":
no node matches.
Continues with the next node after no_data_found (the node no longer matches), PL009, PL010 and PL012
(its unit is deleted or claimed). Raises what else node_provider_claim raises, 23505
(nodes_instance_uuid_key), and 40001 if the setting whether nodes are providers changed since the caller
determined p_unit.
Locks, one node at a time: the node FOR UPDATE, the allocation FOR UPDATE, then as node_provider_claim.
Each try is a subtransaction, since its failure must release its locks: waiting for a node while another
one is locked causes deadlocks.
Calls, for each page: node_allocation_matching_nodes; for each node: node_allocation_matching_nodes once
more when it is locked, node_provider_claim (if nodes are providers), node_allocation_assign.
Plan: a range of nodes_free_idx. The condition compares the class and the id as a row. With a condition
on the class alone the planner knows it to be constant, and scans nodes_pkey instead: that is fast while
most nodes are free, and a scan of all nodes for the last free ones.';

--
-- Name: node_allocation_unmet_traits(bigint, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_unmet_traits(p_node bigint, p_traits text[]) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* node_allocation_unmet_traits 1/1 */ DISTINCT requested.trait
        FROM unnest(p_traits) AS requested (trait)
        WHERE (requested.trait LIKE '!%') = EXISTS (
            SELECT FROM node_traits AS existing
            WHERE existing.node_id = p_node
              AND existing.trait = ANY (string_to_array(regexp_replace(requested.trait, '^(!|in:)', ''), ',')))
        ORDER BY requested.trait);
END
$$;

--
-- Name: FUNCTION node_allocation_unmet_traits(p_node bigint, p_traits text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_unmet_traits(p_node bigint, p_traits text[]) IS 'Returns the trait expressions of an allocation that a node does not satisfy, sorted by name.

Locks nothing. Plan: the key of node_traits, once for each.';

--
-- Name: node_allocation_update(bigint, bigint, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_update(p_id bigint, p_revision bigint, p_name text, p_extra jsonb) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_revision bigint;
BEGIN
    SELECT /* node_allocation_update 1/2 */ allocation.revision INTO v_revision FROM node_allocations AS allocation
    WHERE allocation.id = p_id FOR UPDATE;
    IF v_revision IS DISTINCT FROM p_revision THEN
        RAISE EXCEPTION 'allocation % was changed', p_id
            USING ERRCODE = CASE WHEN v_revision IS NULL THEN 'PL041' ELSE 'PL051' END,
            DETAIL = json_build_object('actual', v_revision, 'given', p_revision);
    END IF;
    UPDATE /* node_allocation_update 2/2 */ node_allocations
        SET name = p_name, extra = p_extra, revision = revision + 1, updated_at = now()
    WHERE id = p_id;
    RETURN now();
END
$$;

--
-- Name: FUNCTION node_allocation_update(p_id bigint, p_revision bigint, p_name text, p_extra jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_allocation_update(p_id bigint, p_revision bigint, p_name text, p_extra jsonb) IS 'PATCH /v1/allocations/{allocation}: updates the name and extra of an allocation that was read at p_revision.

Returns the time of the update and increments the revision. Raises PL041 (it is gone), PL051 (it was
changed since p_revision), 23505 (node_allocations_name_key). Locks: its row.';

--
-- Name: node_create(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_create(p_node jsonb) RETURNS SETOF public.nodes
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    INSERT /* node_create 1/1 */ INTO nodes (
        uuid, name, driver, resource_class, provision_state, target_provision_state, power_state, target_power_state,
        maintenance, maintenance_reason, fault, instance_uuid, owner, lessee, protected, retired, conductor_group,
        last_error, details
    )
    SELECT
        given.uuid, given.name, given.driver, given.resource_class, given.provision_state, given.target_provision_state,
        given.power_state, given.target_power_state, given.maintenance, given.maintenance_reason, given.fault,
        given.instance_uuid, given.owner, given.lessee, given.protected, given.retired, given.conductor_group,
        given.last_error, given.details
    FROM jsonb_populate_record(NULL::nodes, p_node) AS given
    RETURNING nodes.*;
END
$$;

--
-- Name: FUNCTION node_create(p_node jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_create(p_node jsonb) IS 'POST /v1/nodes: creates a node from an object with the names of its columns.

Returns the node. Raises 23505 (nodes_uuid_key, nodes_name_key or nodes_instance_uuid_key). Locks: no
existing row. Not idempotent: a second call violates the unique constraints.';

--
-- Name: node_delete(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_delete(p_uuid uuid, p_name text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked nodes;
    v_rule text;
BEGIN
    -- Not FOR NO KEY UPDATE first: a transaction that adds a port has locked the node FOR KEY SHARE.
    SELECT /* node_delete 1/3 */ node.* INTO v_locked FROM nodes AS node
    WHERE node.uuid = p_uuid OR node.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_locked.id IS NULL THEN 'PL030'
        WHEN v_locked.instance_uuid IS NOT NULL AND NOT v_locked.maintenance THEN 'PL032'
        WHEN v_locked.protected THEN 'PL035'
        WHEN v_locked.provision_state NOT IN ('enroll', 'manageable', 'adopt failed', 'available')
            AND NOT v_locked.maintenance THEN 'PL034'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'node % cannot be deleted', coalesce(p_uuid::text, p_name) USING ERRCODE = v_rule,
            DETAIL = json_build_object('node', coalesce(v_locked.uuid::text, p_uuid::text, p_name),
                'instance', v_locked.instance_uuid, 'state', v_locked.provision_state);
    END IF;

    PERFORM /* node_delete 2/3 */ node_allocation_release(v_locked.id);
    DELETE /* node_delete 3/3 */ FROM nodes WHERE id = v_locked.id;
END
$$;

--
-- Name: FUNCTION node_delete(p_uuid uuid, p_name text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_delete(p_uuid uuid, p_name text) IS 'DELETE /v1/nodes/{node}: deletes the node with its allocation, ports and traits.

Maintenance overrides the rules about the instance and the state. Raises, in this order: PL030 (no such
node), PL032 (an instance has it), PL035 (it is protected), PL034 (not in this state). Locks: the node
FOR UPDATE, then what node_allocation_release locks.
Calls: node_allocation_release; the deletion fires node_provider_sync_trigger.';

--
-- Name: node_is_allocatable(public.nodes); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_is_allocatable(p_node public.nodes) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT /* node_is_allocatable 1/1 */ coalesce(p_node.provision_state = 'available'
        AND p_node.instance_uuid IS NULL AND NOT p_node.maintenance AND p_node.power_state <> 'error', false)
$$;

--
-- Name: FUNCTION node_is_allocatable(p_node public.nodes); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_is_allocatable(p_node public.nodes) IS 'Returns whether a node can be assigned, so that its unit is not reserved. Locks nothing.';

--
-- Name: node_lock(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_lock(p_uuid uuid, p_name text) RETURNS public.nodes
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked nodes;
BEGIN
    SELECT /* node_lock 1/1 */ node.* INTO v_locked FROM nodes AS node
    WHERE node.uuid = p_uuid OR node.name = p_name
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no node %', coalesce(p_uuid::text, p_name) USING ERRCODE = 'PL030',
            DETAIL = json_build_object('node', coalesce(p_uuid::text, p_name));
    END IF;
    RETURN v_locked;
END
$$;

--
-- Name: FUNCTION node_lock(p_uuid uuid, p_name text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_lock(p_uuid uuid, p_name text) IS 'Locks a node for a change, by UUID or by name (the other is null), and returns it.

All functions that change nodes call it first. Raises PL030 (no such node). Locks: the node FOR NO KEY
UPDATE; it returns the row as of that time.';

--
-- Name: node_provider_claim(public.node_allocations, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_claim(p_allocation public.node_allocations, p_node bigint, p_in_use boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_node nodes;
    v_locked record;
    v_named record;
BEGIN
    SELECT /* node_provider_claim 1/6 */ node.* INTO v_node FROM nodes AS node WHERE node.id = p_node;
    IF node_provider_class_name(v_node.resource_class) IS NULL THEN
        RETURN;  -- only nodes in use can be without a class here; they have no unit
    END IF;
    v_locked := consumer_lock(ARRAY[p_allocation.uuid],
        ARRAY[coalesce(nullif(p_allocation.owner, ''), '00000000-0000-0000-0000-000000000000')],
        '{00000000-0000-0000-0000-000000000000}', '{BAREMETAL}', '{true}');
    IF v_locked.generations[1] >= 0 THEN
        IF p_in_use AND EXISTS (
            SELECT /* node_provider_claim 2/6 */
            FROM allocations AS claimed JOIN resource_providers AS provider ON provider.id = claimed.provider_id
            WHERE claimed.consumer_id = v_locked.ids[1] AND provider.uuid = v_node.uuid
        ) THEN
            RETURN;
        END IF;
        RAISE EXCEPTION 'consumer % has allocations already', p_allocation.uuid USING ERRCODE = 'PL050',
            DETAIL = json_build_object('consumer', p_allocation.uuid, 'allocation', p_allocation.uuid, 'node',
                v_node.uuid);
    END IF;
    IF p_in_use THEN
        PERFORM /* node_provider_claim 3/6 */ node_provider_sync(p_node, true);
    END IF;
    v_named := allocation_resolve(ARRAY[v_node.uuid], ARRAY[node_provider_class_name(v_node.resource_class)]);
    PERFORM /* node_provider_claim 4/6 */ allocation_lock_providers('{}', v_named.providers);
    PERFORM /* node_provider_claim 5/6 */ allocation_apply(v_locked.ids, v_locked.generations, v_locked.projects,
        v_locked.users, v_locked.types,
        '{1}', v_named.providers, v_named.classes, '{1}');
    IF p_in_use THEN
        PERFORM /* node_provider_claim 6/6 */ node_provider_sync(p_node, false);
    END IF;
END
$$;

--
-- Name: FUNCTION node_provider_claim(p_allocation public.node_allocations, p_node bigint, p_in_use boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_provider_claim(p_allocation public.node_allocations, p_node bigint, p_in_use boolean) IS 'Claims a node''s unit in Placement, for the consumer with the UUID of the allocation.

p_in_use: the node is in use already, so its unit is reserved; the reservation is lifted for the claim. A
consumer that has an allocation on the node already, as nova''s instances do, keeps it unchanged. Raises
PL050 (the consumer has allocations elsewhere), PL009 (the node is no provider), PL004 (no such class),
PL010 (it has no unit), PL012 (the unit is reserved or claimed).
Locks: consumer, provider. The caller has locked the node and has called node_provider_ensure_owner.
Calls: consumer_lock, node_provider_sync (p_in_use), allocation_resolve, allocation_lock_providers,
allocation_apply, and node_provider_sync again (p_in_use).';

--
-- Name: node_provider_class_name(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_class_name(p_class text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN 'CUSTOM_' || upper(regexp_replace(nullif(p_class, ''), '[^0-9A-Za-z]+', '_', 'g'));
END
$$;

--
-- Name: FUNCTION node_provider_class_name(p_class text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_provider_class_name(p_class text) IS 'Returns the name of the resource class in Placement for the class of a node; null if it has none.

Different classes may map to one name ("a-b", "a.b"), so a function that chooses a node compares the
node''s own class too.';

--
-- Name: node_provider_ensure_owner(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_ensure_owner(p_owner text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM /* node_provider_ensure_owner 1/1 */ consumer_ensure_references(
        ARRAY[coalesce(nullif(p_owner, ''), '00000000-0000-0000-0000-000000000000')],
        '{00000000-0000-0000-0000-000000000000}', '{BAREMETAL}');
END
$$;

--
-- Name: FUNCTION node_provider_ensure_owner(p_owner text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_provider_ensure_owner(p_owner text) IS 'Inserts the project, user and consumer type of an owner''s allocations in Placement.

Without an owner the project is the nil UUID, which is also the user of all allocations. The lock order
requires a call before a node is locked. Locks: as consumer_ensure_references.';

--
-- Name: node_provider_sync(bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_sync(p_node bigint, p_lend boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_node nodes;
    v_traits text[];
    v_locked record;
    v_class text;
    v_class_id int;
    v_reserved int := 1;
    v_changes bigint;
    v_more bigint;
BEGIN
    SELECT /* node_provider_sync 1/16 */ node.* INTO v_node FROM nodes AS node WHERE node.id = p_node;
    IF NOT FOUND OR NOT (SELECT /* node_provider_sync 2/16 */ backend.placement FROM baremetal_backend AS backend) THEN
        RETURN;
    END IF;
    v_class := node_provider_class_name(v_node.resource_class);
    INSERT /* node_provider_sync 3/16 */ INTO resource_classes (name)
    SELECT v_class
    WHERE v_class IS NOT NULL
      AND NOT EXISTS (SELECT FROM resource_classes AS class WHERE class.name = v_class)
    ON CONFLICT DO NOTHING;
    v_traits := ARRAY(SELECT /* node_provider_sync 4/16 */ existing.trait FROM node_traits AS existing
        WHERE existing.node_id = p_node ORDER BY existing.trait);
    INSERT /* node_provider_sync 5/16 */ INTO traits (name)
    SELECT requested.name FROM unnest(v_traits) AS requested (name)
    WHERE NOT EXISTS (SELECT FROM traits AS trait WHERE trait.name = requested.name)
    ORDER BY requested.name
    ON CONFLICT DO NOTHING;

    IF NOT EXISTS (SELECT /* node_provider_sync 6/16 */ FROM resource_providers AS provider
        WHERE provider.uuid = v_node.uuid) THEN
        PERFORM /* node_provider_sync 7/16 */ provider_create(v_node.uuid, v_node.uuid::text, NULL);
    END IF;
    v_locked := provider_lock(v_node.uuid, NULL, true, true);
    -- Compare first: a write of equal traits costs as much as one of other traits, and traits
    -- rarely change when a node is assigned.
    IF v_traits <> ARRAY(
        SELECT /* node_provider_sync 8/16 */ (SELECT trait.name FROM traits AS trait
            WHERE trait.id = existing.trait_id) AS name
        FROM provider_traits AS existing WHERE existing.provider_id = v_locked.provider_id ORDER BY name
    ) THEN
        PERFORM /* node_provider_sync 9/16 */ provider_traits_replace(v_node.uuid, NULL, v_traits);
    END IF;

    -- Units of other classes.
    v_class_id := (SELECT /* node_provider_sync 10/16 */ class.id FROM resource_classes AS class
        WHERE class.name = v_class);
    DELETE /* node_provider_sync 11/16 */ FROM inventories AS other
    WHERE other.provider_id = v_locked.provider_id AND other.class_id IS DISTINCT FROM v_class_id AND other.used = 0;
    GET DIAGNOSTICS v_changes = ROW_COUNT;
    UPDATE /* node_provider_sync 12/16 */ inventories AS other SET reserved = other.total, updated_at = now()
    WHERE other.provider_id = v_locked.provider_id AND other.class_id IS DISTINCT FROM v_class_id
      AND other.reserved < other.total;
    GET DIAGNOSTICS v_more = ROW_COUNT;
    v_changes := v_changes + v_more;

    -- The unit of the node's class.
    IF v_class IS NOT NULL THEN
        IF p_lend OR node_is_allocatable(v_node) AND NOT EXISTS (
                SELECT /* node_provider_sync 13/16 */ FROM inventories AS other
                WHERE other.provider_id = v_locked.provider_id AND other.class_id <> v_class_id) THEN
            v_reserved := 0;
        END IF;
        IF NOT EXISTS (
            SELECT /* node_provider_sync 14/16 */ FROM inventories AS unit
            WHERE unit.provider_id = v_locked.provider_id AND unit.class_id = v_class_id
              AND unit.total = 1 AND unit.reserved = v_reserved
              AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1
        ) THEN
            PERFORM /* node_provider_sync 15/16 */ inventory_write(v_locked.provider_id, v_locked.root_id,
                jsonb_build_array(jsonb_build_object(
                'class', v_class, 'total', 1, 'reserved', v_reserved,
                'min_unit', 1, 'max_unit', 1, 'step_size', 1, 'allocation_ratio', 1.0)));
            v_changes := v_changes + 1;
        END IF;
    END IF;
    IF v_changes > 0 THEN
        PERFORM /* node_provider_sync 16/16 */ provider_bump_generation(v_locked.provider_id);
    END IF;
END
$$;

--
-- Name: FUNCTION node_provider_sync(p_node bigint, p_lend boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_provider_sync(p_node bigint, p_lend boolean) IS 'Updates a node''s provider: its UUID and name are the node''s UUID; it has one unit of the node''s class,
and the node''s traits. Does nothing if nodes are not providers or there is no such node, and does not
write values that are correct already.

The unit is reserved while the node cannot be assigned: it is not available, in maintenance, of unknown
or wrong power state, or an instance has it. p_lend: do not reserve the unit, for a claim in the same
transaction. It deletes units of other classes; while they are claimed, they stay, and are completely
reserved. It uses a provider that exists already, for example one that nova created. It inserts missing
classes and custom traits.
Raises 23505 (resource_providers_name_key: another provider has the name).
Locks: class and traits if they are missing, in that order; the root, then the provider. The
caller has locked the node, so no other request creates the same provider.
Calls: provider_create (if there is none), provider_lock, provider_traits_replace (if they differ),
inventory_write (if the unit differs), provider_bump_generation (if anything was written).';

--
-- Name: node_provider_sync_trigger(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_sync_trigger() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_class text;
    v_reserved int;
    v_provider bigint;
    v_class_id int;
    v_found int;
    v_claimed text;
BEGIN
    IF NOT (SELECT /* node_provider_sync_trigger 1/11 */ backend.placement FROM baremetal_backend AS backend) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT /* node_provider_sync_trigger 2/11 */ FROM resource_providers AS provider
            WHERE provider.uuid = OLD.uuid) THEN
            PERFORM /* node_provider_sync_trigger 3/11 */ provider_delete_checked(OLD.uuid, NULL);
        END IF;
        RETURN NULL;
    END IF;
    v_class := node_provider_class_name(NEW.resource_class);

    -- Only the reserved amount changes.
    IF TG_OP = 'UPDATE' AND NEW.resource_class IS NOT DISTINCT FROM OLD.resource_class THEN
        SELECT /* node_provider_sync_trigger 4/11 */ unit.provider_id, unit.class_id INTO v_provider, v_class_id
        FROM resource_providers AS provider
        JOIN inventories AS unit ON unit.provider_id = provider.id
        JOIN resource_classes AS class ON class.id = unit.class_id
        WHERE provider.uuid = NEW.uuid AND class.name = v_class AND unit.total = 1
          AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1;
        IF FOUND AND (SELECT /* node_provider_sync_trigger 5/11 */ count(*) FROM inventories AS other
            WHERE other.provider_id = v_provider) <= 1 THEN
            PERFORM /* node_provider_sync_trigger 6/11 */ FROM provider_generations AS generation_row
            WHERE generation_row.provider_id = v_provider FOR NO KEY UPDATE;
            SELECT /* node_provider_sync_trigger 7/11 */ unit.reserved INTO v_found FROM inventories AS unit
            WHERE unit.provider_id = v_provider AND unit.class_id = v_class_id AND unit.total = 1
              AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1
              AND NOT EXISTS (
                SELECT FROM inventories AS other WHERE other.provider_id = v_provider AND other.class_id <> v_class_id);
            IF NOT FOUND THEN
                RAISE EXCEPTION 'the provider of node % was changed concurrently', NEW.uuid USING ERRCODE = '40001';
            END IF;
            v_reserved := CASE WHEN node_is_allocatable(NEW) THEN 0 ELSE 1 END;
            IF v_found <> v_reserved THEN
                UPDATE /* node_provider_sync_trigger 8/11 */ inventories SET reserved = v_reserved, updated_at = now()
                WHERE provider_id = v_provider AND class_id = v_class_id;
                PERFORM /* node_provider_sync_trigger 9/11 */ provider_bump_generation(v_provider);
            END IF;
            RETURN NULL;
        END IF;
    END IF;

    -- Other values change too.
    PERFORM /* node_provider_sync_trigger 10/11 */ node_provider_sync(NEW.id, false);
    IF TG_OP = 'UPDATE' AND v_class IS DISTINCT FROM node_provider_class_name(OLD.resource_class) THEN
        SELECT /* node_provider_sync_trigger 11/11 */ class.name INTO v_claimed
        FROM resource_providers AS provider
        JOIN allocations AS claimed ON claimed.provider_id = provider.id
        JOIN resource_classes AS class ON class.id = claimed.class_id
        JOIN consumers AS consumer ON consumer.id = claimed.consumer_id
        WHERE provider.uuid = NEW.uuid AND class.name IS DISTINCT FROM v_class
          AND NOT EXISTS (
            SELECT FROM node_allocations AS own WHERE own.node_id = NEW.id AND own.uuid = consumer.uuid)
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'the % of node % is claimed', v_claimed, NEW.uuid USING ERRCODE = 'PL005',
                DETAIL = json_build_object('node', NEW.uuid, 'provider', NEW.uuid, 'class', v_claimed);
        END IF;
    END IF;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION node_provider_sync_trigger(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_provider_sync_trigger() IS 'Trigger: applies a change of a node to its provider, in the same transaction.

Does nothing if nodes are not providers. If only the reserved amount of the unit changes, which is the
case whenever a node is assigned or released, it writes nothing else.
Raises what node_provider_sync and provider_delete_checked raise, and: PL005 (the class changes, and another
consumer claimed the unit through Placement; the node''s own allocation does not count); 40001 if the
provider changed at that moment: the lock order does not permit to lock what comes before its generation
any more.
Locks: the provider''s generation, or as the functions that it calls. The function that writes nodes has
locked them and has released their allocations before.
Calls: provider_delete_checked for a deleted node; otherwise provider_bump_generation, if only the reserved
amount changes; otherwise node_provider_sync.';

--
-- Name: node_trait_add(uuid, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_trait_add(p_uuid uuid, p_name text, p_trait text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, p_name);
BEGIN
    INSERT /* node_trait_add 1/2 */ INTO node_traits (node_id, trait)
        VALUES (v_locked.id, p_trait) ON CONFLICT DO NOTHING;
    PERFORM /* node_trait_add 2/2 */ node_traits_check(v_locked.id, v_locked.uuid);
END
$$;

--
-- Name: FUNCTION node_trait_add(p_uuid uuid, p_name text, p_trait text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_trait_add(p_uuid uuid, p_name text, p_trait text) IS 'PUT /v1/nodes/{node}/traits/{trait}.

Raises PL030 (no such node), PL036 (it would be the 51st). Locks: the node. Idempotent.
Calls: node_lock, node_traits_check; the insertion fires node_traits_sync_trigger.';

--
-- Name: node_trait_delete(uuid, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_trait_delete(p_uuid uuid, p_name text, p_trait text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, p_name);
BEGIN
    DELETE /* node_trait_delete 1/1 */ FROM node_traits AS existing
    WHERE existing.node_id = v_locked.id AND existing.trait = p_trait;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'node % has no trait %', v_locked.uuid, p_trait USING ERRCODE = 'PL037',
            DETAIL = json_build_object('node', v_locked.uuid, 'traits', p_trait);
    END IF;
END
$$;

--
-- Name: FUNCTION node_trait_delete(p_uuid uuid, p_name text, p_trait text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_trait_delete(p_uuid uuid, p_name text, p_trait text) IS 'DELETE /v1/nodes/{node}/traits/{trait}.

Raises PL030 (no such node), PL037 (the node doesn''t have it). Locks: the node.
Calls: node_lock; the deletion fires node_traits_sync_trigger.';

--
-- Name: node_traits_check(bigint, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_traits_check(p_node bigint, p_uuid uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (SELECT /* node_traits_check 1/1 */ count(*) FROM node_traits AS existing
        WHERE existing.node_id = p_node) > 50 THEN
        RAISE EXCEPTION 'node % would have more than 50 traits', p_uuid USING ERRCODE = 'PL036',
            DETAIL = json_build_object('node', p_uuid);
    END IF;
END
$$;

--
-- Name: FUNCTION node_traits_check(p_node bigint, p_uuid uuid); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_traits_check(p_node bigint, p_uuid uuid) IS 'Rejects a node with too many traits, after they were written.

Raises PL036 (more than 50). Locks nothing: the caller has locked the node.';

--
-- Name: node_traits_replace(uuid, text, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_traits_replace(p_uuid uuid, p_name text, p_traits text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, p_name);
BEGIN
    DELETE /* node_traits_replace 1/3 */ FROM node_traits AS existing
    WHERE existing.node_id = v_locked.id AND existing.trait <> ALL (p_traits);
    INSERT /* node_traits_replace 2/3 */ INTO node_traits (node_id, trait)
    SELECT DISTINCT v_locked.id, requested.trait FROM unnest(p_traits) AS requested (trait)
    ON CONFLICT DO NOTHING;
    PERFORM /* node_traits_replace 3/3 */ node_traits_check(v_locked.id, v_locked.uuid);
END
$$;

--
-- Name: FUNCTION node_traits_replace(p_uuid uuid, p_name text, p_traits text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_traits_replace(p_uuid uuid, p_name text, p_traits text[]) IS 'PUT and DELETE /v1/nodes/{node}/traits: replaces the traits of the node. Names may repeat.

Raises PL030 (no such node), PL036 (more than 50). Locks: the node. Idempotent.
Calls: node_lock, node_traits_check; both statements fire node_traits_sync_trigger.';

--
-- Name: node_traits_sync_trigger(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_traits_sync_trigger() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (SELECT /* node_traits_sync_trigger 1/2 */ backend.placement FROM baremetal_backend AS backend) THEN
        PERFORM /* node_traits_sync_trigger 2/2 */ node_provider_sync(node.id, false)
        FROM (SELECT DISTINCT changed.node_id AS id FROM changed ORDER BY changed.node_id) AS node;
    END IF;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION node_traits_sync_trigger(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_traits_sync_trigger() IS 'Trigger: applies the traits of a node to its provider, in the same transaction.

Runs after every statement that inserts or deletes rows of node_traits. Does nothing if nodes are not
providers, and for nodes that are being deleted. Locks: as node_provider_sync, in the order of the nodes;
the writer of the traits has locked the node.';

--
-- Name: node_transition(uuid, text, text[], bigint, text, text, text, text, text, boolean, text, text, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_transition(p_uuid uuid, p_name text, p_from text[], p_revision bigint, p_holder text, p_to text, p_target text, p_conductor text, p_last_error text, p_set_power boolean, p_power_state text, p_target_power_state text, p_tear_down boolean) RETURNS SETOF public.nodes
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, p_name);
    v_conductor int;
    v_sticky node_allocations;
    v_target_power text := CASE WHEN p_set_power THEN p_target_power_state ELSE v_locked.target_power_state END;
BEGIN
    IF v_locked.provision_state <> ALL (p_from) OR v_locked.revision <> p_revision
       OR (p_holder IS NOT NULL AND v_locked.conductor_id IS DISTINCT FROM (
            SELECT /* node_transition 1/6 */ conductor.id FROM conductors AS conductor
            WHERE conductor.hostname = p_holder)) THEN
        RETURN;
    END IF;
    IF p_conductor IS NOT NULL THEN
        SELECT /* node_transition 2/6 */ conductor.id INTO v_conductor FROM conductors AS conductor
        WHERE conductor.hostname = p_conductor;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no conductor %', p_conductor USING ERRCODE = 'PL040',
                DETAIL = json_build_object('conductor', p_conductor, 'node', v_locked.uuid);
        END IF;
    END IF;

    -- Before the update, which may lock the node's provider: the lock order has consumers first.
    IF p_tear_down THEN
        SELECT /* node_transition 3/6 */ allocation.* INTO v_sticky FROM node_allocations AS allocation
        WHERE allocation.node_id = v_locked.id AND allocation.sticky;
        IF NOT FOUND THEN
            PERFORM /* node_transition 4/6 */ node_allocation_release(v_locked.id);
        END IF;
    END IF;
    RETURN QUERY
    UPDATE /* node_transition 5/6 */ nodes AS node SET
        provision_state = p_to, target_provision_state = p_target,
        provision_updated_at = CASE WHEN p_to = node.provision_state THEN node.provision_updated_at ELSE now() END,
        conductor_id = v_conductor, last_error = p_last_error,
        power_state = CASE WHEN p_set_power THEN p_power_state ELSE node.power_state END,
        target_power_state = v_target_power,
        instance_uuid = CASE WHEN NOT p_tear_down OR v_sticky.id IS NOT NULL THEN node.instance_uuid END,
        details = CASE
            WHEN v_sticky.id IS NOT NULL THEN node.details
                || jsonb_build_object('instance_info',
                    jsonb_build_object('traits', node_allocation_required_traits(v_sticky.traits)))
            WHEN p_tear_down THEN node.details || '{"instance_info": {}}'
            ELSE node.details END,
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = v_locked.id
    RETURNING node.*;

    IF (p_target IS NOT NULL OR v_target_power IS NOT NULL)
       AND (v_conductor IS NULL OR (p_to, p_target, v_target_power) IS DISTINCT FROM
            (v_locked.provision_state, v_locked.target_provision_state, v_locked.target_power_state)) THEN
        PERFORM /* node_transition 6/6 */ pg_notify('berth_node_pending', v_locked.uuid::text);
    END IF;
END
$$;

--
-- Name: FUNCTION node_transition(p_uuid uuid, p_name text, p_from text[], p_revision bigint, p_holder text, p_to text, p_target text, p_conductor text, p_last_error text, p_set_power boolean, p_power_state text, p_target_power_state text, p_tear_down boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_transition(p_uuid uuid, p_name text, p_from text[], p_revision bigint, p_holder text, p_to text, p_target text, p_conductor text, p_last_error text, p_set_power boolean, p_power_state text, p_target_power_state text, p_tear_down boolean) IS 'Performs a transition of a node''s provision state or power state.

Guards, each null for any value: p_from, the provision states in which the transition starts; p_revision;
p_holder, the hostname of the conductor that has the reservation. If one does not match, it writes
nothing and returns no row.
Writes: both provision states, the reservation, the last error (null: none), the power states if
p_set_power. p_tear_down: it empties instance_info and clears the instance_uuid and deletes the node''s
allocation, unless the allocation is sticky.
Notifies berth_node_pending of the node''s UUID if a target remains, unless only the reservation changes:
that conductor knows.
Raises PL030 (no such node), PL040 (no such conductor). Locks: the node, then what
node_allocation_release locks. Idempotent by its guards.
Calls: node_lock, then node_allocation_release (p_tear_down, not sticky), and for a sticky allocation
node_allocation_required_traits; the update fires node_provider_sync_trigger.';

--
-- Name: node_update(uuid, bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_update(p_uuid uuid, p_revision bigint, p_node jsonb) RETURNS SETOF public.nodes
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, NULL);
    v_given nodes := jsonb_populate_record(v_locked, p_node);
    v_rule text;
BEGIN
    v_rule := CASE
        WHEN v_locked.revision <> p_revision THEN 'PL031'
        WHEN v_given.instance_uuid <> v_locked.instance_uuid THEN 'PL032'
        WHEN v_given.owner IS DISTINCT FROM v_locked.owner AND EXISTS (
            SELECT /* node_update 1/3 */ FROM node_allocations AS allocation
            WHERE allocation.node_id = v_locked.id AND allocation.owner IS NOT NULL) THEN 'PL033'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'node % cannot be updated', p_uuid USING ERRCODE = v_rule, DETAIL = json_build_object(
            'node', p_uuid, 'instance', v_locked.instance_uuid, 'actual', v_locked.revision, 'given', p_revision);
    END IF;

    -- Before the update, which may lock the node's provider: the lock order has consumers first.
    IF v_locked.instance_uuid IS NOT NULL AND v_given.instance_uuid IS NULL THEN
        PERFORM /* node_update 2/3 */ node_allocation_release(v_locked.id);
    END IF;
    RETURN QUERY
    UPDATE /* node_update 3/3 */ nodes AS node SET
        name = v_given.name, driver = v_given.driver, resource_class = v_given.resource_class,
        provision_state = v_given.provision_state, target_provision_state = v_given.target_provision_state,
        provision_updated_at = CASE
            WHEN v_given.provision_state = v_locked.provision_state THEN v_locked.provision_updated_at ELSE now() END,
        power_state = v_given.power_state, target_power_state = v_given.target_power_state,
        maintenance = v_given.maintenance, maintenance_reason = v_given.maintenance_reason, fault = v_given.fault,
        instance_uuid = v_given.instance_uuid, owner = v_given.owner, lessee = v_given.lessee,
        protected = v_given.protected, retired = v_given.retired, conductor_group = v_given.conductor_group,
        last_error = v_given.last_error, details = v_given.details,
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = v_locked.id
    RETURNING node.*;
END
$$;

--
-- Name: FUNCTION node_update(p_uuid uuid, p_revision bigint, p_node jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.node_update(p_uuid uuid, p_revision bigint, p_node jsonb) IS 'PATCH /v1/nodes/{node}: updates a node that was read at p_revision from an object with the names of its
columns. Its id, UUID, times and reservation do not change, whatever p_node contains.

If the update clears the instance_uuid, it also deletes the node''s allocation. The caller has checked
that the state permits this, at the same revision.
Returns the node with the next revision. Raises, in this order: PL030 (no such node), PL031 (it was
changed since p_revision), PL032 (it is another instance''s: an instance_uuid is only set where there is
none), PL033 (a new owner, while an owner''s allocation has the node), 23505 (nodes_name_key,
nodes_instance_uuid_key).
Locks: the node, then what node_allocation_release locks.
Calls: node_lock, then node_allocation_release (the instance_uuid is cleared); the update fires
node_provider_sync_trigger.';

--
-- Name: ports; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ports (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    node_id bigint NOT NULL,
    address text NOT NULL COLLATE pg_catalog."C",
    revision bigint DEFAULT 0 NOT NULL,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone
);

--
-- Name: TABLE ports; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.ports IS 'Ports: network cards of nodes.';

--
-- Name: COLUMN ports.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.ports.id IS 'Internal key.';

--
-- Name: COLUMN ports.uuid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.ports.uuid IS 'Key in the API.';

--
-- Name: COLUMN ports.node_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.ports.node_id IS 'Node that has the port.';

--
-- Name: COLUMN ports.address; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.ports.address IS 'MAC address in lower case, with colons.';

--
-- Name: COLUMN ports.revision; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.ports.revision IS 'Incremented by every change, as that of nodes.';

--
-- Name: COLUMN ports.details; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.ports.details IS 'Members that no rule reads, by their names in the API.';

--
-- Name: COLUMN ports.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.ports.created_at IS 'Time of creation.';

--
-- Name: COLUMN ports.updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.ports.updated_at IS 'Time of the last change; null before the first.';

--
-- Name: port_create(uuid, uuid, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.port_create(p_uuid uuid, p_node uuid, p_address text, p_details jsonb) RETURNS SETOF public.ports
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_node bigint;
BEGIN
    SELECT /* port_create 1/2 */ node.id INTO v_node FROM nodes AS node WHERE node.uuid = p_node FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no node %', p_node USING ERRCODE = 'PL030', DETAIL = json_build_object('node', p_node);
    END IF;
    RETURN QUERY
    INSERT /* port_create 2/2 */ INTO ports (uuid, node_id, address, details)
        VALUES (p_uuid, v_node, p_address, p_details)
    RETURNING ports.*;
END
$$;

--
-- Name: FUNCTION port_create(p_uuid uuid, p_node uuid, p_address text, p_details jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.port_create(p_uuid uuid, p_node uuid, p_address text, p_details jsonb) IS 'POST /v1/ports: creates a port of a node.

Returns the port. Raises PL030 (no such node), 23505 (ports_uuid_key, ports_address_key). Locks: the node
FOR KEY SHARE, so that it is not deleted. Not idempotent: a second call violates the unique constraints.';

--
-- Name: port_update(uuid, bigint, uuid, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.port_update(p_uuid uuid, p_revision bigint, p_node uuid, p_address text, p_details jsonb) RETURNS SETOF public.ports
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_node bigint;
    v_revision bigint;
    v_rule text;
BEGIN
    SELECT /* port_update 1/3 */ node.id INTO v_node FROM nodes AS node WHERE node.uuid = p_node FOR KEY SHARE;
    SELECT /* port_update 2/3 */ port.revision INTO v_revision FROM ports AS port
    WHERE port.uuid = p_uuid FOR NO KEY UPDATE;
    v_rule := CASE
        WHEN v_revision IS NULL THEN 'PL038'
        WHEN v_node IS NULL THEN 'PL030'
        WHEN v_revision <> p_revision THEN 'PL039'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'port % cannot be updated', p_uuid USING ERRCODE = v_rule,
            DETAIL = json_build_object('port', p_uuid, 'node', p_node, 'actual', v_revision, 'given', p_revision);
    END IF;
    RETURN QUERY
    UPDATE /* port_update 3/3 */ ports AS port SET
        node_id = v_node, address = p_address, details = p_details, revision = port.revision + 1, updated_at = now()
    WHERE port.uuid = p_uuid
    RETURNING port.*;
END
$$;

--
-- Name: FUNCTION port_update(p_uuid uuid, p_revision bigint, p_node uuid, p_address text, p_details jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.port_update(p_uuid uuid, p_revision bigint, p_node uuid, p_address text, p_details jsonb) IS 'PATCH /v1/ports/{uuid}: updates a port that was read at p_revision.

Returns the port with the next revision. Raises PL030 (no such node), PL038 (no such port), PL039 (it was
changed since), 23505 (ports_address_key). Locks: the node FOR KEY SHARE, then the port.';

--
-- Name: provider_aggregate_uuids(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_aggregate_uuids(p_provider bigint) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* provider_aggregate_uuids 1/1 */ (SELECT aggregate.uuid FROM aggregates AS aggregate WHERE aggregate.id = one.aggregate_id)
        FROM provider_aggregates AS one WHERE one.provider_id = p_provider
        ORDER BY one.aggregate_id);
END
$$;

--
-- Name: FUNCTION provider_aggregate_uuids(p_provider bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_aggregate_uuids(p_provider bigint) IS 'The UUIDs of the aggregates of a provider, in the order of their ids.

Called by the queries TreeShow and ProviderPage, once for each provider. Locks nothing.
Plan: a range of provider_aggregates_pkey, and aggregates_pkey for each aggregate; enable_seqscan is off as in
provider_trait_names.';

--
-- Name: provider_aggregates_denormalize(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_aggregates_denormalize() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_sharing int := (SELECT /* provider_aggregates_denormalize 1/3 */ trait.id FROM traits AS trait
        WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE');
BEGIN
    UPDATE /* provider_aggregates_denormalize 2/3 */ resource_providers AS provider
    SET aggregate_ids = ARRAY(SELECT existing.aggregate_id FROM provider_aggregates AS existing
        WHERE existing.provider_id = provider.id ORDER BY existing.aggregate_id)
    WHERE provider.id = ANY (ARRAY(SELECT DISTINCT changed.provider_id FROM changed))
      AND provider.aggregate_ids <> ARRAY(SELECT existing.aggregate_id FROM provider_aggregates AS existing
        WHERE existing.provider_id = provider.id ORDER BY existing.aggregate_id);

    UPDATE /* provider_aggregates_denormalize 3/3 */ provider_aggregates AS member
    SET sharing = true
    WHERE member.provider_id = ANY (ARRAY(SELECT DISTINCT changed.provider_id FROM changed)) AND NOT member.sharing
      AND EXISTS (
        SELECT FROM provider_traits AS existing
        WHERE existing.provider_id = member.provider_id AND existing.trait_id = v_sharing);
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION provider_aggregates_denormalize(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_aggregates_denormalize() IS 'Trigger: updates resource_providers.aggregate_ids, and provider_aggregates.sharing of new memberships.

Runs after every statement that inserts or deletes rows of provider_aggregates (triggers update sharing, and
provider_reparent root_id). The caller of such a statement has locked the provider''s row FOR NO KEY UPDATE
(provider_lock). It does not write rows that are correct already, and has arrays of ids; provider_traits_denormalize
explains why.';

--
-- Name: provider_aggregates_patch(uuid, bigint, uuid[], uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_aggregates_patch(p_provider uuid, p_generation bigint, p_added uuid[], p_removed uuid[]) RETURNS TABLE(shown_generation bigint, shown_position bigint, shown_uuid uuid)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
    v_written bigint;
BEGIN
    INSERT /* provider_aggregates_patch 1/4 */ INTO aggregates (uuid)
    SELECT DISTINCT requested.uuid FROM unnest(p_added) AS requested (uuid)
    WHERE NOT EXISTS (SELECT FROM aggregates AS existing WHERE existing.uuid = requested.uuid)
    ORDER BY requested.uuid
    ON CONFLICT DO NOTHING;
    SELECT /* provider_aggregates_patch 2/4 */ * INTO v_locked
    FROM provider_lock(p_provider, p_generation, false, true);

    -- One statement, so that the provider's row is written once (provider_traits_denormalize).
    WITH /* provider_aggregates_patch 3/4 */ deleted AS (
        DELETE FROM provider_aggregates AS existing USING aggregates AS aggregate
        WHERE existing.provider_id = v_locked.provider_id AND aggregate.id = existing.aggregate_id
          AND aggregate.uuid = ANY (p_removed)
        RETURNING existing.aggregate_id
    ), inserted AS (
        INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id)
        SELECT v_locked.provider_id, aggregate.id, provider.root_id
        FROM aggregates AS aggregate, resource_providers AS provider
        WHERE aggregate.uuid = ANY (p_added) AND provider.id = v_locked.provider_id
        ORDER BY aggregate.id
        ON CONFLICT DO NOTHING
        RETURNING aggregate_id
    )
    SELECT (SELECT count(*) FROM deleted) + (SELECT count(*) FROM inserted) INTO v_written;
    IF v_written > 0 THEN
        v_locked.generation := provider_bump_generation(v_locked.provider_id);
    END IF;
    RETURN QUERY SELECT /* provider_aggregates_patch 4/4 */ v_locked.generation, coalesce(aggregate.id, -1)::bigint,
        coalesce(aggregate.uuid, '00000000-0000-0000-0000-000000000000')
    FROM (SELECT v_locked.provider_id AS id) AS provider
    LEFT JOIN provider_aggregates AS existing ON existing.provider_id = provider.id
    LEFT JOIN aggregates AS aggregate ON aggregate.id = existing.aggregate_id;
END
$$;

--
-- Name: FUNCTION provider_aggregates_patch(p_provider uuid, p_generation bigint, p_added uuid[], p_removed uuid[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_aggregates_patch(p_provider uuid, p_generation bigint, p_added uuid[], p_removed uuid[]) IS 'PATCH /resource_providers/{uuid}/aggregates: adds the provider to aggregates and removes it from others.

p_generation null: do not compare the provider''s generation. Inserts aggregates of p_added that do not exist.
Increments the generation only if the set changes. Returns the generation and all aggregates afterwards, with the id
of the aggregate as position; without aggregates one row with position -1 and the zero UUID.
Raises PL001 (no such provider) and PL002 (generation).
Locks: new aggregates in the order of their UUIDs, then the provider. Idempotent without a generation.
Calls: provider_lock, provider_bump_generation.';

--
-- Name: provider_aggregates_replace(uuid, bigint, uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_aggregates_replace(p_provider uuid, p_generation bigint, p_aggregates uuid[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
BEGIN
    INSERT /* provider_aggregates_replace 1/3 */ INTO aggregates (uuid)
    SELECT DISTINCT requested.uuid FROM unnest(p_aggregates) AS requested (uuid)
    WHERE NOT EXISTS (SELECT FROM aggregates AS existing WHERE existing.uuid = requested.uuid)
    ORDER BY requested.uuid
    ON CONFLICT DO NOTHING;
    SELECT /* provider_aggregates_replace 2/3 */ * INTO v_locked
    FROM provider_lock(p_provider, p_generation, false, true);

    -- One statement, so that the provider's row is written once (provider_traits_denormalize).
    WITH /* provider_aggregates_replace 3/3 */ deleted AS (
        DELETE FROM provider_aggregates AS existing USING aggregates AS aggregate
        WHERE existing.provider_id = v_locked.provider_id AND aggregate.id = existing.aggregate_id
          AND aggregate.uuid <> ALL (p_aggregates)
    )
    INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id)
    SELECT v_locked.provider_id, aggregate.id, provider.root_id
    FROM aggregates AS aggregate, resource_providers AS provider
    WHERE aggregate.uuid = ANY (p_aggregates) AND provider.id = v_locked.provider_id
    ORDER BY aggregate.id
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN p_generation IS NULL
        THEN v_locked.generation ELSE provider_bump_generation(v_locked.provider_id) END;
END
$$;

--
-- Name: FUNCTION provider_aggregates_replace(p_provider uuid, p_generation bigint, p_aggregates uuid[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_aggregates_replace(p_provider uuid, p_generation bigint, p_aggregates uuid[]) IS 'PUT /resource_providers/{uuid}/aggregates: replaces the aggregates of the provider.

p_generation null: a request before microversion 1.19, which neither checks nor increments the
generation. Inserts aggregates that do not exist. Returns the generation afterwards. Raises PL001 (no
such provider) and PL002 (generation).
Locks: new aggregates in the order of their UUIDs, then the provider.';

--
-- Name: provider_bump_generation(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_bump_generation(p_provider_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_generation bigint;
BEGIN
    UPDATE /* provider_bump_generation 1/1 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = p_provider_id
    RETURNING generation INTO v_generation;
    RETURN v_generation;
END
$$;

--
-- Name: FUNCTION provider_bump_generation(p_provider_id bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_bump_generation(p_provider_id bigint) IS 'Increments a provider''s generation and returns the new one. The caller has locked the provider
(provider_lock).';

--
-- Name: provider_check_generation(uuid, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_check_generation(p_uuid uuid, p_actual bigint, p_given bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_actual <> p_given THEN
        RAISE EXCEPTION 'generation of provider % is %, not %', p_uuid, p_actual, p_given
            USING ERRCODE = 'PL002',
            DETAIL = json_build_object('provider', p_uuid, 'actual', p_actual, 'given', p_given);
    END IF;
END
$$;

--
-- Name: FUNCTION provider_check_generation(p_uuid uuid, p_actual bigint, p_given bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_check_generation(p_uuid uuid, p_actual bigint, p_given bigint) IS 'Compares the generation of a provider with that of a request.

p_given null: do not compare. Raises PL002 if they differ. Locks nothing; the caller has read p_actual under the
lock that it needs.';

--
-- Name: provider_copy_root(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_copy_root() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    SELECT /* provider_copy_root 1/1 */ provider.root_id INTO NEW.root_id FROM resource_providers AS provider
    WHERE provider.id = NEW.provider_id FOR NO KEY UPDATE;
    RETURN NEW;
END
$$;

--
-- Name: FUNCTION provider_copy_root(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_copy_root() IS 'Trigger: sets the root_id of a new row of provider_traits or provider_aggregates that has none.

The functions that write these tables set it themselves; this is for rows that are inserted manually. A provider that
does not exist leaves it null, which the column rejects.
Locks: the provider''s row FOR NO KEY UPDATE, which provider_reparent locks too, so that the copy cannot be stale. The
triggers that run after the statement update this row in any case.';

--
-- Name: provider_create(uuid, text, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_create(p_uuid uuid, p_name text, p_parent uuid) RETURNS uuid
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id bigint;
    v_parent bigint;
    v_root bigint;
    v_root_uuid uuid := p_uuid;
BEGIN
    IF p_parent IS NOT NULL THEN
        SELECT /* provider_create 1/5 */ parent.id INTO v_parent FROM resource_providers AS parent
        WHERE parent.uuid = p_parent;
        v_root := provider_lock_root(v_parent);
        PERFORM /* provider_create 2/5 */ FROM resource_providers AS parent WHERE parent.id = v_parent FOR KEY SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no resource provider % for parent', p_parent USING ERRCODE = 'PL016',
                DETAIL = json_build_object('provider', p_uuid, 'parent', p_parent);
        END IF;
        SELECT /* provider_create 3/5 */ root.uuid INTO v_root_uuid FROM resource_providers AS root
        WHERE root.id = v_root;
    END IF;

    v_id := nextval(pg_get_serial_sequence('resource_providers', 'id'));
    INSERT /* provider_create 4/5 */ INTO resource_providers (id, uuid, name, parent_id,
        root_id) OVERRIDING SYSTEM VALUE
    VALUES (v_id, p_uuid, p_name, v_parent, coalesce(v_root, v_id));
    -- A new root has an updated_at, a new child has none: clients see
    -- this in the last-modified header of their first rename.
    INSERT /* provider_create 5/5 */ INTO provider_generations (provider_id, updated_at)
    VALUES (v_id, CASE WHEN v_parent IS NULL THEN now() END);
    RETURN v_root_uuid;
END
$$;

--
-- Name: FUNCTION provider_create(p_uuid uuid, p_name text, p_parent uuid); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_create(p_uuid uuid, p_name text, p_parent uuid) IS 'POST /resource_providers: creates a root, or a child of p_parent.

Returns the UUID of the tree''s root. Raises PL016 (no such parent) and 23505 (resource_providers_name_key
or _uuid_key). Locks: the tree''s root FOR NO KEY UPDATE, then the parent FOR KEY SHARE, so that it is
not deleted. Not idempotent: a second call violates the unique constraints.';

--
-- Name: provider_delete(uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_delete(p_uuid uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM /* provider_delete 1/1 */ provider_delete_checked(p_uuid, NULL);
END
$$;

--
-- Name: FUNCTION provider_delete(p_uuid uuid); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_delete(p_uuid uuid) IS 'Deletes a provider, for any generation. See provider_delete_checked.

Servers of earlier versions call it; a later migration drops it.
Raises what provider_delete_checked raises, except PL002. Locks: as provider_delete_checked.
Calls: provider_delete_checked.';

--
-- Name: provider_delete_checked(uuid, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_delete_checked(p_uuid uuid, p_generation bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id bigint;
    v_root bigint;
    v_rule text;
    v_generation bigint;
BEGIN
    SELECT /* provider_delete_checked 1/8 */ provider.id INTO v_id FROM resource_providers AS provider
    WHERE provider.uuid = p_uuid;
    -- Lock a root FOR UPDATE at once: a deletion that had locked it FOR NO KEY UPDATE would
    -- deadlock with a transaction that has locked it FOR KEY SHARE and waits for that lock.
    IF EXISTS (SELECT /* provider_delete_checked 2/8 */ FROM resource_providers AS provider
        WHERE provider.id = v_id AND provider.parent_id IS NOT NULL) THEN
        v_root := provider_lock_root(v_id);
    END IF;
    PERFORM /* provider_delete_checked 3/8 */ FROM resource_providers AS provider WHERE provider.id = v_id FOR UPDATE;
    SELECT /* provider_delete_checked 4/8 */ generation_row.generation INTO v_generation
    FROM provider_generations AS generation_row WHERE generation_row.provider_id = v_id FOR UPDATE;
    IF EXISTS (SELECT /* provider_delete_checked 5/8 */ FROM resource_providers AS provider
        WHERE provider.id = v_id AND provider.root_id <> coalesce(v_root, v_id)) THEN
        RAISE EXCEPTION 'provider % was re-parented concurrently', p_uuid USING ERRCODE = '40001';
    END IF;

    PERFORM /* provider_delete_checked 6/8 */ provider_check_generation(p_uuid, v_generation, p_generation);
    v_rule := CASE
        WHEN NOT EXISTS (SELECT /* provider_delete_checked 7/8 */ FROM resource_providers AS provider
            WHERE provider.id = v_id) THEN 'PL001'
        WHEN EXISTS (SELECT FROM resource_providers AS child WHERE child.parent_id = v_id) THEN 'PL014'
        WHEN EXISTS (SELECT FROM allocations AS allocation WHERE allocation.provider_id = v_id) THEN 'PL015'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'provider % cannot be deleted', p_uuid USING ERRCODE = v_rule,
            DETAIL = json_build_object('provider', p_uuid);
    END IF;

    -- One statement: the triggers that copy traits and aggregates find no row to write
    -- (the header of provider_traits_denormalize explains why).
    WITH /* provider_delete_checked 8/8 */ inventory AS (
        DELETE FROM inventories WHERE provider_id = v_id
    ), trait AS (
        DELETE FROM provider_traits WHERE provider_id = v_id
    ), aggregate AS (
        DELETE FROM provider_aggregates WHERE provider_id = v_id
    ), generation AS (
        DELETE FROM provider_generations WHERE provider_id = v_id
    )
    DELETE FROM resource_providers WHERE id = v_id;
END
$$;

--
-- Name: FUNCTION provider_delete_checked(p_uuid uuid, p_generation bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_delete_checked(p_uuid uuid, p_generation bigint) IS 'DELETE /resource_providers/{uuid}: deletes the provider with its inventories, traits and aggregate
memberships.

p_generation null: do not compare the provider''s generation.
Raises PL001 (no such provider), PL002 (generation), PL014 (has children), PL015 (has allocations), and 40001
if a root got a parent while this waited for its lock: the new root is not locked. Locks: a child''s root FOR
NO KEY UPDATE, the provider''s row and its row in provider_generations FOR UPDATE.';

--
-- Name: provider_lock(uuid, bigint, boolean, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_lock(p_uuid uuid, p_generation bigint, p_with_root boolean, p_with_copies boolean, OUT provider_id bigint, OUT root_id bigint, OUT generation bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
    SELECT /* provider_lock 1/4 */ provider.id INTO provider_id FROM resource_providers AS provider
    WHERE provider.uuid = p_uuid;
    IF p_with_root THEN
        root_id := provider_lock_root(provider_id);
    END IF;
    IF p_with_copies THEN
        PERFORM /* provider_lock 2/4 */ FROM resource_providers AS provider
        WHERE provider.id = provider_lock.provider_id FOR NO KEY UPDATE;
    ELSE
        PERFORM /* provider_lock 3/4 */ FROM resource_providers AS provider
        WHERE provider.id = provider_lock.provider_id FOR KEY SHARE;
    END IF;
    SELECT /* provider_lock 4/4 */ generation_row.generation INTO generation FROM provider_generations AS generation_row
    WHERE generation_row.provider_id = provider_lock.provider_id FOR NO KEY UPDATE;
    IF generation IS NULL THEN
        RAISE EXCEPTION 'no resource provider %', p_uuid USING ERRCODE = 'PL001',
            DETAIL = json_build_object('provider', p_uuid);
    END IF;
    IF generation <> p_generation THEN
        RAISE EXCEPTION 'generation of provider % is %, not %', p_uuid, generation, p_generation
            USING ERRCODE = 'PL002',
            DETAIL = json_build_object('provider', p_uuid, 'actual', generation, 'given', p_generation);
    END IF;
END
$$;

--
-- Name: FUNCTION provider_lock(p_uuid uuid, p_generation bigint, p_with_root boolean, p_with_copies boolean, OUT provider_id bigint, OUT root_id bigint, OUT generation bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_lock(p_uuid uuid, p_generation bigint, p_with_root boolean, p_with_copies boolean, OUT provider_id bigint, OUT root_id bigint, OUT generation bigint) IS 'Locks one provider for a write of its inventories, traits or aggregates, and checks its generation.

p_generation null: do not check. p_with_root: also lock the tree''s root, because the caller copies its id
or changes which inventories exist. p_with_copies: the caller writes traits or aggregates, and triggers
copy them into the provider''s row. Raises PL001 (no such provider) and PL002 (generation differs).
Locks: the tree''s root FOR NO KEY UPDATE if p_with_root, the provider''s row FOR KEY SHARE (p_with_copies:
FOR NO KEY UPDATE), then the row in provider_generations FOR NO KEY UPDATE. The foreign keys and copies of
the rows to be written take the second lock in any case. If they took it after the third, this transaction
would deadlock with a deletion or rename that has locked the row and waits for the generation.';

--
-- Name: provider_lock_root(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_lock_root(p_provider_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_root bigint;
    v_roots_root bigint;
    v_now bigint;
BEGIN
    LOOP
        SELECT /* provider_lock_root 1/3 */ provider.root_id INTO v_root FROM resource_providers AS provider
        WHERE provider.id = p_provider_id;
        EXIT WHEN v_root IS NULL;
        SELECT /* provider_lock_root 2/3 */ root.root_id INTO v_roots_root FROM resource_providers AS root
        WHERE root.id = v_root FOR NO KEY UPDATE;
        EXIT WHEN FOUND;  -- otherwise the root was deleted, and nothing is locked
    END LOOP;
    -- A statement of its own, so that its snapshot includes what was committed
    -- while the one before it waited for the lock.
    SELECT /* provider_lock_root 3/3 */ provider.root_id INTO v_now FROM resource_providers AS provider
    WHERE provider.id = p_provider_id;
    IF v_roots_root <> v_root OR v_now <> v_root THEN
        RAISE EXCEPTION 'the tree of provider % was re-parented concurrently', p_provider_id USING ERRCODE = '40001';
    END IF;
    RETURN v_now;
END
$$;

--
-- Name: FUNCTION provider_lock_root(p_provider_id bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_lock_root(p_provider_id bigint) IS 'Locks the root of a provider''s tree against re-parenting and returns its id, or null if there is no such
provider.

Every function that copies the id of a root (into a child or an inventory), or that inserts or deletes
inventories, calls this first. Locks: the root''s row in resource_providers, FOR NO KEY UPDATE. Writers of
the inventories of one tree wait for each other here. With FOR SHARE, two writers of different providers
of a tree would deadlock on its rows in tree_classes. Raises 40001 if the tree was re-parented while this
waited: the transaction then holds a lock outside of the lock order until it ends, so the store retries
the whole write.';

--
-- Name: provider_reparent(bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_reparent(p_provider_id bigint, p_parent_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_root bigint := p_provider_id;
    v_subtree bigint[];
    v_moved record;
BEGIN
    IF p_parent_id IS NOT NULL THEN
        SELECT /* provider_reparent 1/12 */ parent.root_id INTO v_root FROM resource_providers AS parent
        WHERE parent.id = p_parent_id;
    END IF;
    WITH /* provider_reparent 2/12 */ RECURSIVE subtree AS (
        SELECT p_provider_id AS id
        UNION  -- ends at the leaves, and at a parent cycle that was made by hand
        SELECT child.id FROM subtree AS parent JOIN resource_providers AS child ON child.parent_id = parent.id
    )
    SELECT array_agg(subtree.id ORDER BY subtree.id) INTO v_subtree FROM subtree;

    PERFORM /* provider_reparent 3/12 */ FROM resource_providers AS provider
    WHERE provider.id = ANY (v_subtree) ORDER BY provider.id FOR NO KEY UPDATE;
    PERFORM /* provider_reparent 4/12 */ FROM provider_generations AS generation_row
    WHERE generation_row.provider_id = ANY (v_subtree) ORDER BY generation_row.provider_id FOR NO KEY UPDATE;
    UPDATE /* provider_reparent 5/12 */ provider_generations AS generation_row SET updated_at = now()
    FROM resource_providers AS descendant
    WHERE descendant.id = ANY (v_subtree) AND descendant.id <> p_provider_id AND descendant.root_id <> v_root
      AND generation_row.provider_id = descendant.id;
    UPDATE /* provider_reparent 6/12 */ resource_providers AS provider
    SET root_id = v_root,
        parent_id = CASE WHEN provider.id = p_provider_id THEN p_parent_id ELSE provider.parent_id END
    WHERE provider.id = ANY (v_subtree);
    FOR v_moved IN SELECT /* provider_reparent 7/12 */ inventory.root_id, inventory.class_id, count(*)::int AS providers
        FROM inventories AS inventory WHERE inventory.provider_id = ANY (v_subtree) AND inventory.root_id <> v_root
        GROUP BY inventory.root_id, inventory.class_id LOOP
        PERFORM /* provider_reparent 8/12 */ tree_class_add(v_moved.root_id, v_moved.class_id, -v_moved.providers);
        PERFORM /* provider_reparent 9/12 */ tree_class_add(v_root, v_moved.class_id, v_moved.providers);
    END LOOP;
    UPDATE /* provider_reparent 10/12 */ inventories SET root_id = v_root WHERE provider_id = ANY (v_subtree);
    UPDATE /* provider_reparent 11/12 */ provider_traits SET root_id = v_root WHERE provider_id = ANY (v_subtree) AND root_id <> v_root;
    UPDATE /* provider_reparent 12/12 */ provider_aggregates SET root_id = v_root WHERE provider_id = ANY (v_subtree) AND root_id <> v_root;
END
$$;

--
-- Name: FUNCTION provider_reparent(p_provider_id bigint, p_parent_id bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_reparent(p_provider_id bigint, p_parent_id bigint) IS 'Changes the parent of a provider (null: makes it a root) and sets the new root of its whole subtree.

The caller has locked both roots and has checked that no parent cycle results. The caller sets updated_at
of the provider itself; this function sets it for the descendants whose root changes. No trigger counts
the inventories that it moves: a trigger on updates of inventories would run for every claim. It
sets root_id in inventories, traits and memberships. Calls
tree_class_add for each class of the subtree, for the old and the new root. Locks: the
subtree''s rows in resource_providers, then those in provider_generations, both FOR NO KEY UPDATE in the
order of their ids: a rename locks the two in this order too, and writers of inventories lock the second.';

--
-- Name: provider_reparent_check(uuid, bigint, bigint, uuid, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_reparent_check(p_uuid uuid, p_provider_id bigint, p_old_parent_id bigint, p_parent uuid, p_parent_id bigint, p_may_reparent boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_rule text;
    v_loop bool;
BEGIN
    WITH /* provider_reparent_check 1/1 */ RECURSIVE ancestors AS (
        SELECT provider.id, provider.parent_id FROM resource_providers AS provider WHERE provider.id = p_parent_id
        UNION  -- ends at the root, and at a parent cycle that was made by hand
        SELECT parent.id, parent.parent_id
        FROM ancestors AS child JOIN resource_providers AS parent ON parent.id = child.parent_id
    )
    SELECT count(*) > 0 INTO v_loop FROM ancestors WHERE ancestors.id = p_provider_id;

    v_rule := CASE
        WHEN p_parent IS NOT NULL AND p_parent_id IS NULL THEN 'PL016'
        WHEN p_old_parent_id IS NOT NULL AND NOT p_may_reparent AND p_parent IS NULL THEN 'PL017'
        WHEN p_old_parent_id IS NOT NULL AND NOT p_may_reparent THEN 'PL018'
        WHEN v_loop THEN 'PL019'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'provider % cannot be re-parented to %', p_uuid, coalesce(p_parent::text, 'nothing')
            USING ERRCODE = v_rule, DETAIL = json_build_object('provider', p_uuid, 'parent', p_parent);
    END IF;
END
$$;

--
-- Name: FUNCTION provider_reparent_check(p_uuid uuid, p_provider_id bigint, p_old_parent_id bigint, p_parent uuid, p_parent_id bigint, p_may_reparent boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_reparent_check(p_uuid uuid, p_provider_id bigint, p_old_parent_id bigint, p_parent uuid, p_parent_id bigint, p_may_reparent boolean) IS 'Rejects a change of parent that the API does not allow.

Raises, in this order: PL016 (the new parent does not exist), PL017 (un-parenting before 1.37), PL018
(re-parenting before 1.37), PL019 (the new parent is the provider itself or a descendant of it). The
caller has locked both roots.';

--
-- Name: provider_reparent_lock(bigint, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_reparent_lock(p_provider_id bigint, p_parent uuid) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_roots bigint[];
    v_root bigint;
    v_moved bool := false;
    v_same_parent bool;
BEGIN
    SELECT /* provider_reparent_lock 1/4 */ coalesce(array_agg(DISTINCT either.root_id ORDER BY either.root_id),
        '{}'::bigint[]) INTO v_roots
    FROM resource_providers AS either
    WHERE either.id = p_provider_id OR either.uuid = p_parent;
    FOREACH v_root IN ARRAY v_roots LOOP
        SELECT /* provider_reparent_lock 2/4 */ root.root_id <> v_root INTO v_moved
        FROM resource_providers AS root WHERE root.id = v_root FOR NO KEY UPDATE;
        EXIT WHEN v_moved;  -- null if the root was deleted
    END LOOP;
    IF v_moved OR EXISTS (
        SELECT /* provider_reparent_lock 3/4 */ FROM resource_providers AS either
        WHERE (either.id = p_provider_id OR either.uuid = p_parent) AND either.root_id <> ALL (v_roots)
    ) THEN
        RAISE EXCEPTION 'the tree of provider % or % was re-parented concurrently', p_provider_id, p_parent USING ERRCODE = '40001';
    END IF;
    SELECT /* provider_reparent_lock 4/4 */ parent.uuid IS NOT DISTINCT FROM p_parent INTO v_same_parent
    FROM resource_providers AS provider
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = p_provider_id;
    RETURN NOT v_same_parent;
END
$$;

--
-- Name: FUNCTION provider_reparent_lock(p_provider_id bigint, p_parent uuid); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_reparent_lock(p_provider_id bigint, p_parent uuid) IS 'Locks the two trees of a re-parenting.

Returns whether the parent changes; false also if the provider or the new parent does not exist, which
the caller checks. Locks: the roots of both trees FOR NO KEY UPDATE in the order of their ids, which
conflicts with every transaction that adds to the trees (provider_lock_root). Raises 40001 if a tree was
re-parented while this waited, as that function does, before it waits for the other root.';

--
-- Name: provider_revise(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_revise() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    RETURN NEW;
END
$$;

--
-- Name: FUNCTION provider_revise(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_revise() IS 'Trigger: increments the revision of a provider with every UPDATE of its row.

It has no WHEN: a re-parenting writes all rows of the moved subtree, most of them without a change, and a claim with
same_subtree must notice that. Claims and writes of inventories do not update the row.
Locks nothing; the UPDATE has locked the row.';

--
-- Name: provider_trait_names(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_trait_names(p_provider bigint) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* provider_trait_names 1/1 */ (SELECT trait.name FROM traits AS trait WHERE trait.id = one.trait_id)
        FROM provider_traits AS one WHERE one.provider_id = p_provider
        ORDER BY one.trait_id);
END
$$;

--
-- Name: FUNCTION provider_trait_names(p_provider bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_trait_names(p_provider bigint) IS 'The names of the traits of a provider, in the order of their ids.

Called by the queries TreeShow and ProviderPage, once for each provider. Locks nothing.
Plan: a range of provider_traits_pkey, and traits_pkey for each trait. A query without enable_seqscan off scans the few
hundred traits for each trait of each provider, because one scan of so small a table is estimated to cost less than the index.';

--
-- Name: provider_traits_denormalize(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_traits_denormalize() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_sharing int := (SELECT /* provider_traits_denormalize 1/3 */ trait.id FROM traits AS trait
        WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE');
BEGIN
    UPDATE /* provider_traits_denormalize 2/3 */ resource_providers AS provider
    SET trait_ids = ARRAY(SELECT existing.trait_id FROM provider_traits AS existing
        WHERE existing.provider_id = provider.id ORDER BY existing.trait_id)
    WHERE provider.id = ANY (ARRAY(SELECT DISTINCT changed.provider_id FROM changed))
      AND provider.trait_ids <> ARRAY(SELECT existing.trait_id FROM provider_traits AS existing
        WHERE existing.provider_id = provider.id ORDER BY existing.trait_id);

    UPDATE /* provider_traits_denormalize 3/3 */ provider_aggregates AS member
    SET sharing = NOT member.sharing
    WHERE member.provider_id = ANY (ARRAY(SELECT changed.provider_id FROM changed WHERE changed.trait_id = v_sharing))
      AND member.sharing <> EXISTS (
        SELECT FROM provider_traits AS existing
        WHERE existing.provider_id = member.provider_id AND existing.trait_id = v_sharing);
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION provider_traits_denormalize(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_traits_denormalize() IS 'Trigger: updates resource_providers.trait_ids and provider_aggregates.sharing from provider_traits.

Runs after every statement that inserts or deletes rows of provider_traits (only provider_reparent updates
them, and only root_id).
The caller of such a statement has locked the provider''s row FOR NO KEY UPDATE (provider_lock).

It does not write rows that are correct already, so a statement that deletes and inserts writes the
provider''s row once. If a transaction updates a row that it has already written, PostgreSQL checks the
row''s foreign keys even if they do not change. The second write would then wait for a deletion of the
provider''s parent or root, which may wait for a claim, which may wait for this provider''s generation.

The arrays of ids keep the plans independent of the number of rows: connections keep a plan, and PostgreSQL would plan a
join with as many rows as the first statement changed. After a large one, each small one would read the whole table.';

--
-- Name: provider_traits_patch(uuid, bigint, text[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_traits_patch(p_provider uuid, p_generation bigint, p_added text[], p_removed text[]) RETURNS TABLE(shown_generation bigint, shown_position integer, shown_name text)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
    v_added int[];
    v_unknown text[];
    v_written bigint;
BEGIN
    SELECT /* provider_traits_patch 1/4 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, false, true);
    SELECT /* provider_traits_patch 2/4 */ array_agg(DISTINCT trait.id) FILTER (WHERE trait.id IS NOT NULL),
           array_agg(DISTINCT requested.name) FILTER (WHERE trait.id IS NULL)
    INTO v_added, v_unknown
    FROM unnest(p_added) AS requested (name) LEFT JOIN traits AS trait ON trait.name = requested.name;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no traits %', v_unknown USING ERRCODE = 'PL013',
            DETAIL = json_build_object('traits', array_to_string(v_unknown, ', '));
    END IF;

    -- One statement, so that the provider's row is written once (provider_traits_denormalize).
    WITH /* provider_traits_patch 3/4 */ deleted AS (
        DELETE FROM provider_traits AS existing USING traits AS trait
        WHERE existing.provider_id = v_locked.provider_id AND trait.id = existing.trait_id
          AND trait.name = ANY (p_removed)
        RETURNING existing.trait_id
    ), inserted AS (
        INSERT INTO provider_traits (provider_id, trait_id, root_id)
        SELECT v_locked.provider_id, requested.id, provider.root_id
        FROM resource_providers AS provider, unnest(v_added) AS requested (id)
        WHERE provider.id = v_locked.provider_id ORDER BY requested.id
        ON CONFLICT DO NOTHING
        RETURNING trait_id
    )
    SELECT (SELECT count(*) FROM deleted) + (SELECT count(*) FROM inserted) INTO v_written;
    IF v_written > 0 THEN
        v_locked.generation := provider_bump_generation(v_locked.provider_id);
    END IF;
    RETURN QUERY SELECT /* provider_traits_patch 4/4 */ v_locked.generation, coalesce(trait.id, -1),
        coalesce(trait.name, '')
    FROM (SELECT v_locked.provider_id AS id) AS provider
    LEFT JOIN provider_traits AS existing ON existing.provider_id = provider.id
    LEFT JOIN traits AS trait ON trait.id = existing.trait_id;
END
$$;

--
-- Name: FUNCTION provider_traits_patch(p_provider uuid, p_generation bigint, p_added text[], p_removed text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_traits_patch(p_provider uuid, p_generation bigint, p_added text[], p_removed text[]) IS 'PATCH /resource_providers/{uuid}/traits: adds and removes traits of the provider.

p_generation null: do not compare the provider''s generation. p_removed can have names of traits that do not exist.
Increments the generation only if the set changes. Returns the generation and all traits afterwards, with the id of
the trait as position; without traits one row with an empty name.
Raises, in this order: PL001 (no such provider), PL002 (generation), PL013 (unknown traits in p_added, all of them).
Locks: provider. Idempotent without a generation.
Calls: provider_lock, provider_bump_generation.';

--
-- Name: provider_traits_replace(uuid, bigint, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_traits_replace(p_provider uuid, p_generation bigint, p_names text[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
    v_requested int[];
    v_unknown text[];
    v_written bigint;
BEGIN
    SELECT /* provider_traits_replace 1/3 */ * INTO v_locked FROM provider_lock(p_provider, p_generation, false, true);
    SELECT /* provider_traits_replace 2/3 */ array_agg(DISTINCT trait.id) FILTER (WHERE trait.id IS NOT NULL),
           array_agg(DISTINCT requested.name) FILTER (WHERE trait.id IS NULL)
    INTO v_requested, v_unknown
    FROM unnest(p_names) AS requested (name) LEFT JOIN traits AS trait ON trait.name = requested.name;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no traits %', v_unknown USING ERRCODE = 'PL013',
            DETAIL = json_build_object('traits', array_to_string(v_unknown, ', '));
    END IF;

    WITH /* provider_traits_replace 3/3 */ deleted AS (
        DELETE FROM provider_traits AS existing
        WHERE existing.provider_id = v_locked.provider_id AND existing.trait_id <> ALL (coalesce(v_requested, '{}'))
        RETURNING existing.trait_id
    ), inserted AS (
        INSERT INTO provider_traits (provider_id, trait_id, root_id)
        SELECT v_locked.provider_id, requested.id, provider.root_id
        FROM resource_providers AS provider, unnest(v_requested) AS requested (id)
        WHERE provider.id = v_locked.provider_id ORDER BY requested.id
        ON CONFLICT DO NOTHING
        RETURNING trait_id
    )
    SELECT (SELECT count(*) FROM deleted) + (SELECT count(*) FROM inserted) INTO v_written;
    RETURN CASE WHEN v_written > 0 THEN provider_bump_generation(v_locked.provider_id) ELSE v_locked.generation END;
END
$$;

--
-- Name: FUNCTION provider_traits_replace(p_provider uuid, p_generation bigint, p_names text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_traits_replace(p_provider uuid, p_generation bigint, p_names text[]) IS 'PUT /resource_providers/{uuid}/traits: replaces the traits of the provider.

Names may repeat. Increments the generation only if the set changes. Returns the generation afterwards.
Raises, in this order: PL001 (no such provider), PL002 (generation), PL013 (unknown traits, all of them).
Locks: provider.';

--
-- Name: provider_update(uuid, text, boolean, uuid, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_update(p_uuid uuid, p_name text, p_set_parent boolean, p_parent uuid, p_may_reparent boolean, OUT generation bigint, OUT parent_uuid uuid, OUT root_uuid uuid, OUT updated_before timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
    SELECT /* provider_update 1/1 */ updated.generation, updated.parent_uuid, updated.root_uuid, updated.updated_before
    INTO generation, parent_uuid, root_uuid, updated_before
    FROM provider_update_checked(p_uuid, NULL, p_name, p_set_parent, p_parent, p_may_reparent) AS updated;
END
$$;

--
-- Name: FUNCTION provider_update(p_uuid uuid, p_name text, p_set_parent boolean, p_parent uuid, p_may_reparent boolean, OUT generation bigint, OUT parent_uuid uuid, OUT root_uuid uuid, OUT updated_before timestamp with time zone); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_update(p_uuid uuid, p_name text, p_set_parent boolean, p_parent uuid, p_may_reparent boolean, OUT generation bigint, OUT parent_uuid uuid, OUT root_uuid uuid, OUT updated_before timestamp with time zone) IS 'Renames and re-parents a provider, for any generation. See provider_update_checked.

Servers of earlier versions call it; a later migration drops it.
Raises what provider_update_checked raises, except PL002. Locks: as provider_update_checked.
Calls: provider_update_checked.';

--
-- Name: provider_update_checked(uuid, bigint, text, boolean, uuid, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_update_checked(p_uuid uuid, p_generation bigint, p_name text, p_set_parent boolean, p_parent uuid, p_may_reparent boolean, OUT generation bigint, OUT parent_uuid uuid, OUT root_uuid uuid, OUT updated_before timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id bigint;
    v_old_parent bigint;
    v_parent bigint;
    v_moves bool := false;
    v_renamed bool;
BEGIN
    SELECT /* provider_update_checked 1/12 */
        (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = p_uuid),
        (SELECT parent.id FROM resource_providers AS parent WHERE parent.uuid = p_parent)
    INTO v_id, v_parent;
    IF p_set_parent THEN
        v_moves := provider_reparent_lock(v_id, p_parent);
    END IF;

    SELECT /* provider_update_checked 2/12 */ provider.id, provider.parent_id INTO v_id, v_old_parent
    FROM resource_providers AS provider WHERE provider.id = v_id FOR NO KEY UPDATE;
    IF v_id IS NULL THEN
        RAISE EXCEPTION 'no resource provider %', p_uuid USING ERRCODE = 'PL001',
            DETAIL = json_build_object('provider', p_uuid);
    END IF;
    -- The lock of the generation follows those of the subtree, and a different generation precedes errors of the
    -- parent and the name. So it is compared twice: before the writes without a lock, and after them with one.
    SELECT /* provider_update_checked 3/12 */ generation_row.generation INTO generation
    FROM provider_generations AS generation_row WHERE generation_row.provider_id = v_id;
    PERFORM /* provider_update_checked 4/12 */ provider_check_generation(p_uuid, generation, p_generation);
    IF v_moves THEN
        SELECT /* provider_update_checked 5/12 */ parent.id INTO v_parent FROM resource_providers AS parent
        WHERE parent.id = v_parent;
        PERFORM /* provider_update_checked 6/12 */ provider_reparent_check(p_uuid, v_id, v_old_parent, p_parent, v_parent,
            p_may_reparent);
        PERFORM /* provider_update_checked 7/12 */ provider_reparent(v_id, v_parent);
    END IF;

    UPDATE /* provider_update_checked 8/12 */ resource_providers SET name = p_name WHERE id = v_id AND name <> p_name;
    v_renamed := FOUND;
    SELECT /* provider_update_checked 9/12 */ generation_row.generation, generation_row.updated_at INTO generation,
        updated_before
    FROM provider_generations AS generation_row WHERE generation_row.provider_id = v_id FOR NO KEY UPDATE;
    UPDATE /* provider_update_checked 10/12 */ provider_generations SET updated_at = now()
    WHERE provider_id = v_id AND (v_moves OR v_renamed);
    PERFORM /* provider_update_checked 11/12 */ provider_check_generation(p_uuid, generation, p_generation);

    SELECT /* provider_update_checked 12/12 */ parent.uuid, root.uuid INTO parent_uuid, root_uuid
    FROM resource_providers AS provider
    JOIN resource_providers AS root ON root.id = provider.root_id
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = v_id;
END
$$;

--
-- Name: FUNCTION provider_update_checked(p_uuid uuid, p_generation bigint, p_name text, p_set_parent boolean, p_parent uuid, p_may_reparent boolean, OUT generation bigint, OUT parent_uuid uuid, OUT root_uuid uuid, OUT updated_before timestamp with time zone); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.provider_update_checked(p_uuid uuid, p_generation bigint, p_name text, p_set_parent boolean, p_parent uuid, p_may_reparent boolean, OUT generation bigint, OUT parent_uuid uuid, OUT root_uuid uuid, OUT updated_before timestamp with time zone) IS 'PUT /resource_providers/{uuid}: sets the name and, if p_set_parent, the parent.

p_generation null: do not compare the provider''s generation. p_may_reparent: microversion 1.37 allows
re-parenting and un-parenting.
Returns the provider after the update, and updated_at before it. A call that changes nothing does not set
updated_at.
Raises, in this order: PL001 (no such provider), PL002 (generation), PL016 (no such parent), PL017
(un-parenting), PL018 (re-parenting), PL019 (parent cycle), 23505 (resource_providers_name_key).
A provider or parent that another transaction creates while this one waits for a lock does not exist for it: the
locks are those of the rows that existed at the start.
Locks: to re-parent both roots FOR NO KEY UPDATE in the order of their ids, then the rows of the subtree
and their inventories. Idempotent.
Calls: provider_check_generation; to change the parent, provider_reparent_lock, provider_reparent_check, provider_reparent.';

--
-- Name: reshape(jsonb, uuid[], text[], text[], text[], boolean, bigint[], boolean[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape(p_inventories jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_check_generations boolean, p_generations bigint[], p_unseen boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_locked record;
    v_providers bigint[];
    v_named record;
    v_shape record;
BEGIN
    v_locked := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    v_providers := reshape_lock(p_inventories, v_locked.ids, p_providers);
    PERFORM /* reshape 1/10 */ reshape_check_generations(p_inventories, v_providers);
    IF p_check_generations THEN
        PERFORM /* reshape 2/10 */ consumer_check_generation(p_consumers, v_locked.generations, p_generations,
            p_unseen);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    IF EXISTS (SELECT /* reshape 3/10 */ unnest(v_named.providers) EXCEPT SELECT unnest(v_providers)) THEN
        RAISE EXCEPTION 'a provider of the request was created concurrently' USING ERRCODE = '40001';
    END IF;

    FOR v_shape IN SELECT /* reshape 4/10 */ * FROM reshape_providers(p_inventories)
        WHERE jsonb_array_length(records) > 0 LOOP
        PERFORM /* reshape 5/10 */ inventory_write(v_shape.provider_id, v_shape.root_id, v_shape.records);
        PERFORM /* reshape 6/10 */ provider_bump_generation(v_shape.provider_id);
    END LOOP;
    PERFORM /* reshape 7/10 */ allocation_apply(v_locked.ids, v_locked.generations, v_locked.projects, v_locked.users,
        v_locked.types,
        p_owners, v_named.providers, v_named.classes, p_amounts);
    FOR v_shape IN SELECT /* reshape 8/10 */ * FROM reshape_providers(p_inventories) LOOP
        PERFORM /* reshape 9/10 */ inventory_delete_except(v_shape.provider, v_shape.provider_id,
            inventory_names(v_shape.records));
        PERFORM /* reshape 10/10 */ provider_bump_generation(v_shape.provider_id);
    END LOOP;
END
$$;

--
-- Name: FUNCTION reshape(p_inventories jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_check_generations boolean, p_generations bigint[], p_unseen boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape(p_inventories jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_check_generations boolean, p_generations bigint[], p_unseen boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) IS 'POST /reshaper: changes inventories and the allocations on them in one transaction.

p_inventories: JSON array of {provider, generation, records}, records as in inventory_write. The other
arguments are those of allocation_replace. It first writes the union of the old and new inventories of
every provider, then the allocations, then deletes the inventories that are not among the new ones.
Raises, in this order: PL001 (unknown provider among the inventories), PL002 (its generation), PL003
(consumer generation), PL009 (unknown provider among the allocations), PL004 (unknown class), PL010,
PL011, PL012 (see allocation_raise_error), PL005 (a dropped inventory is in use).
Locks: projects, users, types, consumers, roots FOR NO KEY UPDATE, providers, each in the order of their
keys, before any check.
Calls: consumer_lock, reshape_lock, reshape_check_generations, consumer_check_generation,
allocation_resolve, inventory_write for each provider, allocation_apply, inventory_delete_except for each
provider.';

--
-- Name: reshape_check_generations(jsonb, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_check_generations(p_inventories jsonb, p_locked bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_wrong record;
BEGIN
    SELECT /* reshape_check_generations 1/1 */ shape.provider, generation_row.generation AS actual, shape.generation
        AS given INTO v_wrong
    FROM reshape_providers(p_inventories) AS shape
    LEFT JOIN provider_generations AS generation_row ON generation_row.provider_id = shape.provider_id
        AND generation_row.provider_id = ANY (p_locked)
    WHERE generation_row.generation IS NULL OR generation_row.generation <> shape.generation
    ORDER BY shape.request_position
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'provider % has generation %, not %', v_wrong.provider, v_wrong.actual, v_wrong.given
            USING ERRCODE = CASE WHEN v_wrong.actual IS NULL THEN 'PL001' ELSE 'PL002' END,
            DETAIL = json_build_object('provider', v_wrong.provider, 'actual', v_wrong.actual, 'given', v_wrong.given);
    END IF;
END
$$;

--
-- Name: FUNCTION reshape_check_generations(p_inventories jsonb, p_locked bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape_check_generations(p_inventories jsonb, p_locked bigint[]) IS 'Compares the generations of the providers of a reshape with those in the request.

A null generation of the request is not compared.
Raises for the first that differs: PL001 (does not exist), PL002 (generation).
p_locked: the providers that the caller has locked; any other provider was created later and counts as
not existing.';

--
-- Name: reshape_lock(jsonb, bigint[], uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_lock(p_inventories jsonb, p_consumers bigint[], p_providers uuid[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_roots bigint[];
    v_root bigint;
    v_shaped bigint[];
    v_moved bool := false;
    v_locked bigint[];
BEGIN
    SELECT /* reshape_lock 1/6 */ coalesce(array_agg(DISTINCT shape.root_id ORDER BY shape.root_id), '{}'::bigint[]),
        coalesce(array_agg(shape.provider_id), '{}'::bigint[])
    INTO v_roots, v_shaped
    FROM reshape_providers(p_inventories) AS shape WHERE shape.root_id IS NOT NULL;
    FOREACH v_root IN ARRAY v_roots LOOP
        SELECT /* reshape_lock 2/6 */ root.root_id <> v_root INTO v_moved
        FROM resource_providers AS root WHERE root.id = v_root FOR NO KEY UPDATE;
        EXIT WHEN v_moved;  -- null if a root was deleted
    END LOOP;
    IF v_moved OR EXISTS (
        SELECT /* reshape_lock 3/6 */ FROM resource_providers AS shaped
        WHERE shaped.id = ANY (v_shaped) AND shaped.root_id <> ALL (v_roots)
    ) THEN
        RAISE EXCEPTION 'trees of the providers % were re-parented concurrently', v_shaped USING ERRCODE = '40001';
    END IF;
    PERFORM /* reshape_lock 4/6 */ FROM resource_providers AS shaped WHERE shaped.id = ANY (v_shaped)
    ORDER BY shaped.id FOR KEY SHARE;
    v_locked := v_shaped
        || ARRAY(SELECT /* reshape_lock 5/6 */ provider.id FROM resource_providers AS provider
            WHERE provider.uuid = ANY (p_providers));
    PERFORM /* reshape_lock 6/6 */ allocation_lock_providers(p_consumers, v_locked);
    RETURN v_locked;
END
$$;

--
-- Name: FUNCTION reshape_lock(p_inventories jsonb, p_consumers bigint[], p_providers uuid[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape_lock(p_inventories jsonb, p_consumers bigint[], p_providers uuid[]) IS 'Locks the rows that a reshape writes, except its consumers, which the caller has locked.

Locks: the roots of the trees that get inventories FOR NO KEY UPDATE (see provider_lock_root) in the order
of their ids; the rows of the providers that get them FOR KEY SHARE (see provider_lock); then every
provider with new inventories or with new or present allocations, in the order of their ids.
Raises 40001 if a tree was re-parented meanwhile (see provider_lock_root). Returns the providers of the
request that exist; one that is created later is not locked.';

--
-- Name: reshape_patch(jsonb, uuid[], text[], text[], text[], bigint[], boolean[], boolean[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_patch(p_inventories jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generations bigint[], p_unseen boolean[], p_removed boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_consumers record;
    v_locked bigint[];
    v_changes record;
    v_moved bigint[];
BEGIN
    v_consumers := reshape_patch_consumers(p_consumers, p_projects, p_users, p_types, p_unseen);
    v_locked := reshape_lock(p_inventories, v_consumers.ids, p_providers);
    PERFORM /* reshape_patch 1/7 */ reshape_check_generations(p_inventories, v_locked);
    PERFORM /* reshape_patch 2/7 */ reshape_patch_check_consumers(p_consumers, v_consumers.ids, v_consumers.generations, p_generations, p_unseen,
        p_removed);
    v_changes := reshape_patch_changes(v_consumers.ids, p_removed, p_owners, p_providers, p_classes, p_amounts);
    IF EXISTS (SELECT /* reshape_patch 3/7 */ change.provider_id FROM unnest(v_changes.providers, v_changes.amounts)
        AS change (provider_id, amount) WHERE change.amount > 0 EXCEPT SELECT unnest(v_locked)) THEN
        RAISE EXCEPTION 'a provider of the request was created concurrently' USING ERRCODE = '40001';
    END IF;
    v_moved := reshape_patch_inventories(p_inventories);
    PERFORM /* reshape_patch 4/7 */ allocation_write_changes(v_changes.consumers, v_changes.providers, v_changes.classes, v_changes.amounts,
        v_changes.previous);
    v_moved := v_moved || reshape_patch_remove(p_inventories) || v_changes.providers;
    PERFORM /* reshape_patch 5/7 */ consumer_write_changes(v_consumers.ids, v_consumers.projects, v_consumers.users, v_consumers.types,
        ARRAY(SELECT was.generation >= 0 AND (was.differs OR was.id = ANY (v_changes.consumers))
            FROM unnest(v_consumers.ids, v_consumers.generations, v_consumers.differs) WITH ORDINALITY
                AS was (id, generation, differs, position) ORDER BY was.position));
    UPDATE /* reshape_patch 6/7 */ provider_generations SET generation = generation + 1, updated_at = now() WHERE provider_id = ANY (v_moved);
    RETURN jsonb_build_object(
        'providers', (SELECT /* reshape_patch 7/7 */ coalesce(jsonb_agg(jsonb_build_object('provider', (SELECT provider.uuid
                FROM resource_providers AS provider WHERE provider.id = moved.id), 'generation', (
                SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = moved.id)) ORDER BY moved.position), '[]')
            FROM (SELECT one.id, min(one.position) AS position FROM unnest(v_moved) WITH ORDINALITY AS one (id, position)
                GROUP BY one.id) AS moved),
        'consumers', (SELECT coalesce(jsonb_agg(jsonb_build_object('consumer', named.uuid, 'generation', (
                SELECT consumer.generation FROM consumers AS consumer WHERE consumer.uuid = named.uuid))
                ORDER BY named.position), '[]')
            FROM unnest(p_consumers) WITH ORDINALITY AS named (uuid, position)));
END
$$;

--
-- Name: FUNCTION reshape_patch(p_inventories jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generations bigint[], p_unseen boolean[], p_removed boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape_patch(p_inventories jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generations bigint[], p_unseen boolean[], p_removed boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) IS 'PATCH /reshaper: changes some inventories and some allocations in one transaction.

p_inventories: JSON array of {provider, generation, records, removed}, a null generation is not compared, records and
removed as in inventory_patch. Consumers: see reshape_patch_consumers and reshape_patch_check_consumers; the other arrays
are those of reshape_patch_changes. It first writes the union of the old and new inventories, then the allocations, then
deletes inventories. Each provider and consumer with changes gets the next generation, once; without a change it writes
nothing.
Returns {providers: [{provider, generation}], consumers: [{consumer, generation}]}: the providers whose generations
changed, those of p_inventories first, and all consumers; the generation of one that does not exist is null.
Raises, in this order: PL001, PL002 (see reshape_check_generations), PL075, PL003 (see reshape_patch_check_consumers),
PL009, PL004 (see allocation_resolve), for each provider PL076 (no total), PL006 (reserved), PL004 (unknown class); PL010,
PL011, PL012 (see allocation_raise_error), PL005 (a removed class is in use), 40001.
Locks: as reshape. Idempotent without generations.
Calls: reshape_patch_consumers, reshape_lock, reshape_check_generations, reshape_patch_check_consumers,
reshape_patch_changes, reshape_patch_inventories, allocation_write_changes, reshape_patch_remove, consumer_write_changes.';

--
-- Name: reshape_patch_changes(bigint[], boolean[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_patch_changes(p_consumers bigint[], p_removed boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[], OUT consumers bigint[], OUT providers bigint[], OUT classes integer[], OUT amounts bigint[], OUT previous bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_wanted record;
    v_named record;
BEGIN
    SELECT /* reshape_patch_changes 1/2 */ coalesce(array_agg(item.owner ORDER BY item.position), '{}') AS owners,
        coalesce(array_agg(item.provider ORDER BY item.position), '{}') AS providers,
        coalesce(array_agg(item.class ORDER BY item.position), '{}') AS classes,
        coalesce(array_agg(item.amount ORDER BY item.position), '{}') AS amounts
    INTO v_wanted
    FROM unnest(p_owners, p_providers, p_classes, p_amounts) WITH ORDINALITY
        AS item (owner, provider, class, amount, position)
    WHERE item.amount > 0;
    v_named := allocation_resolve(v_wanted.providers, v_wanted.classes);
    SELECT /* reshape_patch_changes 2/2 */ coalesce(array_agg(change.consumer_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.provider_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.class_id ORDER BY change.position), '{}'),
        coalesce(array_agg(change.amount ORDER BY change.position), '{}'),
        coalesce(array_agg(change.previous ORDER BY change.position), '{}')
    INTO consumers, providers, classes, amounts, previous
    FROM (
        SELECT wanted.position, p_consumers[wanted.owner] AS consumer_id, wanted.provider_id, wanted.class_id,
            wanted.amount, coalesce(had.used, 0) AS previous
        FROM unnest(v_wanted.owners, v_named.providers, v_named.classes, v_wanted.amounts) WITH ORDINALITY
            AS wanted (owner, provider_id, class_id, amount, position)
        LEFT JOIN LATERAL (
            SELECT allocation.used FROM allocations AS allocation
            WHERE allocation.consumer_id = p_consumers[wanted.owner] AND allocation.provider_id = wanted.provider_id
              AND allocation.class_id = wanted.class_id OFFSET 0
        ) AS had ON true
        WHERE had.used IS DISTINCT FROM wanted.amount
        UNION ALL
        SELECT 2147483648 + had.id, had.consumer_id, had.provider_id, had.class_id, 0, had.used
        FROM (
            SELECT p_consumers[item.owner] AS consumer_id, false AS is_all, item.class,
                (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = item.provider) AS provider_id
            FROM unnest(p_owners, p_providers, p_classes, p_amounts) AS item (owner, provider, class, amount)
            WHERE item.amount = 0
            UNION ALL
            SELECT p_consumers[item.position], true, '', NULL
            FROM unnest(p_removed) WITH ORDINALITY AS item (is_removed, position) WHERE item.is_removed
        ) AS removed
        CROSS JOIN LATERAL (
            SELECT allocation.id, allocation.consumer_id, allocation.provider_id, allocation.class_id, allocation.used
            FROM allocations AS allocation
            WHERE allocation.consumer_id = removed.consumer_id
              AND (removed.is_all OR allocation.provider_id = removed.provider_id
                AND (removed.class = '' OR allocation.class_id = (
                    SELECT class.id FROM resource_classes AS class WHERE class.name = removed.class)))
            OFFSET 0
        ) AS had
    ) AS change;
END
$$;

--
-- Name: FUNCTION reshape_patch_changes(p_consumers bigint[], p_removed boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[], OUT consumers bigint[], OUT providers bigint[], OUT classes integer[], OUT amounts bigint[], OUT previous bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape_patch_changes(p_consumers bigint[], p_removed boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[], OUT consumers bigint[], OUT providers bigint[], OUT classes integer[], OUT amounts bigint[], OUT previous bigint[]) IS 'Returns the allocations that PATCH /reshaper changes: those with another amount first, in the order of the request, then
the removed ones with the amount 0. previous is the amount before, 0 for a new allocation.

p_consumers: ids, 0 for a consumer that does not exist; p_removed: all allocations of the consumer are removed; p_owners:
the position (from 1) of the consumer of each element of the other arrays, which are those of allocation_patch.
Raises PL009 and PL004 (see allocation_resolve) for allocations that are set. Names that do not exist are ignored for
those that are removed. Locks nothing; the caller has locked the consumers, whose allocations cannot change.
Calls: allocation_resolve.';

--
-- Name: reshape_patch_check_consumers(uuid[], bigint[], bigint[], bigint[], boolean[], boolean[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_patch_check_consumers(p_consumers uuid[], p_ids bigint[], p_actual bigint[], p_given bigint[], p_unseen boolean[], p_removed boolean[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_consumers) LOOP
        IF p_ids[i] = 0 AND NOT p_removed[i] THEN
            RAISE EXCEPTION 'no consumer %', p_consumers[i] USING ERRCODE = 'PL075',
                DETAIL = json_build_object('consumer', p_consumers[i]);
        END IF;
        IF p_actual[i] >= 0 AND (p_unseen[i] OR p_given[i] >= 0 AND p_actual[i] <> p_given[i]) THEN
            PERFORM /* reshape_patch_check_consumers 1/1 */ consumer_check_generation(p_consumers[i : i], p_actual[i : i], p_given[i : i], p_unseen[i : i]);
        END IF;
    END LOOP;
END
$$;

--
-- Name: FUNCTION reshape_patch_check_consumers(p_consumers uuid[], p_ids bigint[], p_actual bigint[], p_given bigint[], p_unseen boolean[], p_removed boolean[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape_patch_check_consumers(p_consumers uuid[], p_ids bigint[], p_actual bigint[], p_given bigint[], p_unseen boolean[], p_removed boolean[]) IS 'Compares the consumers of PATCH /reshaper with the request.

p_ids, p_actual: what reshape_patch_consumers returned. p_given -1: do not compare. p_unseen: the request expects that
the consumer does not exist. p_removed: the request removes all allocations of the consumer, whether it exists or not.
Raises for the first that differs: PL075 (does not exist, and the request does not create it), PL003 (generation).';

--
-- Name: reshape_patch_consumers(uuid[], text[], text[], text[], boolean[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_patch_consumers(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_unseen boolean[], OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types integer[], OUT differs boolean[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_position int;
    v_found record;
BEGIN
    PERFORM /* reshape_patch_consumers 1/5 */ consumer_ensure_references(array_remove(p_projects, ''), array_remove(p_users, ''), p_types);
    SELECT /* reshape_patch_consumers 2/5 */ coalesce(array_agg(0::bigint), '{}'), coalesce(array_agg(-1::bigint), '{}'), coalesce(array_agg(false), '{}'),
        coalesce(array_agg((SELECT project.id FROM projects AS project WHERE project.external_id = item.project)
            ORDER BY item.position), '{}'),
        coalesce(array_agg((SELECT owner.id FROM users AS owner WHERE owner.external_id = item.owner)
            ORDER BY item.position), '{}'),
        coalesce(array_agg((SELECT type.id FROM consumer_types AS type WHERE type.name = item.type)
            ORDER BY item.position), '{}')
    INTO ids, generations, differs, projects, users, types
    FROM unnest(p_projects, p_users, p_types) WITH ORDINALITY AS item (project, owner, type, position);
    FOR v_position IN SELECT /* reshape_patch_consumers 3/5 */ requested.position
        FROM unnest(p_consumers) WITH ORDINALITY AS requested (uuid, position) ORDER BY requested.uuid
    LOOP
        LOOP
            SELECT /* reshape_patch_consumers 4/5 */ consumer.id, consumer.generation, consumer.project_id, consumer.user_id, consumer.consumer_type_id
            INTO v_found FROM consumers AS consumer WHERE consumer.uuid = p_consumers[v_position] FOR NO KEY UPDATE;
            IF FOUND THEN
                generations[v_position] := v_found.generation;
                differs[v_position] := coalesce(projects[v_position] <> v_found.project_id, false)
                    OR coalesce(users[v_position] <> v_found.user_id, false)
                    OR types[v_position] IS NOT NULL AND types[v_position] IS DISTINCT FROM v_found.consumer_type_id;
            END IF;
            EXIT WHEN FOUND OR NOT p_unseen[v_position] OR projects[v_position] IS NULL OR users[v_position] IS NULL
                OR types[v_position] IS NULL;
            INSERT /* reshape_patch_consumers 5/5 */ INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
            VALUES (p_consumers[v_position], 1, projects[v_position], users[v_position], types[v_position])
            ON CONFLICT (uuid) DO NOTHING RETURNING id INTO v_found;
            -- Another transaction inserted the consumer: the next iteration locks it.
            EXIT WHEN FOUND;
        END LOOP;
        ids[v_position] := coalesce(v_found.id, 0);
    END LOOP;
END
$$;

--
-- Name: FUNCTION reshape_patch_consumers(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_unseen boolean[], OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types integer[], OUT differs boolean[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape_patch_consumers(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_unseen boolean[], OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types integer[], OUT differs boolean[]) IS 'Locks the consumers of PATCH /reshaper, and inserts those that the request creates.

p_projects, p_users, p_types: empty: not sent. p_unseen: the request has a null generation; with a project, user and
type it creates a consumer that does not exist. Returns, in the order of p_consumers: ids (0: does not exist),
generations (-1: did not exist before), the ids of projects, users and types (null: not sent), and whether the request
changes one of them for a consumer that existed. Raises nothing; reshape_patch_check_consumers compares.
Locks: new projects, users and types in the order of their names; then the consumers FOR NO KEY UPDATE in the order of
their UUIDs, one by one, inserted or found.
Calls: consumer_ensure_references.';

--
-- Name: reshape_patch_inventories(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_patch_inventories(p_inventories jsonb) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_shape record;
    v_changed jsonb;
    v_moved bigint[] := '{}'::bigint[];
BEGIN
    FOR v_shape IN SELECT /* reshape_patch_inventories 1/3 */ * FROM reshape_providers(p_inventories) LOOP
        v_changed := inventory_merge(v_shape.provider, v_shape.provider_id, v_shape.records);
        IF v_changed <> '[]' THEN
            PERFORM /* reshape_patch_inventories 2/3 */ inventory_check_capacity(v_shape.provider, v_changed, 0);
            PERFORM /* reshape_patch_inventories 3/3 */ inventory_write(v_shape.provider_id, v_shape.root_id, v_changed);
            v_moved := v_moved || v_shape.provider_id;
        END IF;
    END LOOP;
    RETURN v_moved;
END
$$;

--
-- Name: FUNCTION reshape_patch_inventories(p_inventories jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape_patch_inventories(p_inventories jsonb) IS 'Writes the changed and new inventories of PATCH /reshaper, and returns the providers with changes.

p_inventories: see reshape_patch. Raises, for each provider, PL076 (no total), PL006 (reserved), PL004 (unknown class).
The caller has locked the providers and their roots.
Calls, for each provider: inventory_merge, inventory_check_capacity, inventory_write.';

--
-- Name: reshape_patch_remove(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_patch_remove(p_inventories jsonb) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_shape record;
    v_kept text[];
    v_drops bool;
    v_moved bigint[] := '{}'::bigint[];
BEGIN
    FOR v_shape IN SELECT /* reshape_patch_remove 1/3 */ shape.provider, shape.provider_id,
        ARRAY(SELECT jsonb_array_elements_text(p_inventories -> (shape.request_position - 1)::int -> 'removed')) AS removed
        FROM reshape_providers(p_inventories) AS shape ORDER BY shape.request_position
    LOOP
        SELECT /* reshape_patch_remove 2/3 */ coalesce(array_agg(class.name) FILTER (WHERE class.name <> ALL (v_shape.removed)), '{}'),
            coalesce(bool_or(class.name = ANY (v_shape.removed)), false)
        INTO v_kept, v_drops
        FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
        WHERE inventory.provider_id = v_shape.provider_id;
        IF v_drops THEN
            PERFORM /* reshape_patch_remove 3/3 */ inventory_delete_except(v_shape.provider, v_shape.provider_id, v_kept);
            v_moved := v_moved || v_shape.provider_id;
        END IF;
    END LOOP;
    RETURN v_moved;
END
$$;

--
-- Name: FUNCTION reshape_patch_remove(p_inventories jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape_patch_remove(p_inventories jsonb) IS 'Deletes the removed inventories of PATCH /reshaper, and returns the providers that had some.

p_inventories: see reshape_patch; removed classes that a provider does not have are ignored. Raises PL005 (in use). The
caller has locked the providers and their roots.
Calls, for each provider with such inventories: inventory_delete_except.';

--
-- Name: reshape_providers(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_providers(p_inventories jsonb) RETURNS TABLE(request_position bigint, provider uuid, generation bigint, records jsonb, provider_id bigint, root_id bigint)
    LANGUAGE sql STABLE
    AS $$
    SELECT /* reshape_providers 1/1 */ item.position, (item.shape ->> 'provider')::uuid,
        (item.shape ->> 'generation')::bigint,
        item.shape -> 'records', existing.id, existing.root_id
    FROM jsonb_array_elements(p_inventories) WITH ORDINALITY AS item (shape, position)
    LEFT JOIN LATERAL (
        SELECT provider.id, provider.root_id FROM resource_providers AS provider
        WHERE provider.uuid = (item.shape ->> 'provider')::uuid OFFSET 0
    ) AS existing ON true
    ORDER BY item.position;
$$;

--
-- Name: FUNCTION reshape_providers(p_inventories jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.reshape_providers(p_inventories jsonb) IS 'Returns the providers that get new inventories in a reshape, with their ids, in the order of the request.
provider_id is null for a provider that does not exist.';

--
-- Name: resource_class_delete(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.resource_class_delete(p_name text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id int;
    v_rule text;
BEGIN
    SELECT /* resource_class_delete 1/3 */ class.id INTO v_id FROM resource_classes AS class
    WHERE class.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_id IS NULL THEN 'PL004'
        WHEN v_id < 10000 THEN 'PL020'
        WHEN EXISTS (SELECT /* resource_class_delete 2/3 */ FROM inventories AS inventory
            WHERE inventory.class_id = v_id) THEN 'PL022'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'resource class % cannot be deleted', p_name USING ERRCODE = v_rule,
            DETAIL = json_build_object('class', p_name);
    END IF;
    DELETE /* resource_class_delete 3/3 */ FROM resource_classes WHERE id = v_id;
END
$$;

--
-- Name: FUNCTION resource_class_delete(p_name text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.resource_class_delete(p_name text) IS 'DELETE /resource_classes/{name}.

Raises PL004 (no such class), PL020 (a standard class), PL022 (an inventory has it). Locks: the class FOR
UPDATE; an insertion of an inventory waits for this lock through its foreign key.';

--
-- Name: resource_class_ids(text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.resource_class_ids(p_names text[]) RETURNS integer[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_ids int[];
    v_unknown text;
BEGIN
    SELECT /* resource_class_ids 1/1 */ array_agg(class.id ORDER BY requested.position),
           (array_agg(requested.name ORDER BY requested.position) FILTER (WHERE class.id IS NULL))[1]
    INTO v_ids, v_unknown
    FROM unnest(p_names) WITH ORDINALITY AS requested (name, position)
    LEFT JOIN resource_classes AS class ON class.name = requested.name;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no resource class %', v_unknown USING ERRCODE = 'PL004',
            DETAIL = json_build_object('class', v_unknown);
    END IF;
    RETURN coalesce(v_ids, '{}');
END
$$;

--
-- Name: FUNCTION resource_class_ids(p_names text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.resource_class_ids(p_names text[]) IS 'Returns the ids of resource classes, in the order of the names.

Raises PL004 for the first name that no class has. Locks nothing.';

--
-- Name: resource_class_rename(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.resource_class_rename(p_name text, p_new_name text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id int;
BEGIN
    SELECT /* resource_class_rename 1/2 */ class.id INTO v_id FROM resource_classes AS class
    WHERE class.name = p_name FOR UPDATE;
    IF v_id IS NULL OR v_id < 10000 THEN
        RAISE EXCEPTION 'resource class % cannot be renamed', p_name
            USING ERRCODE = CASE WHEN v_id IS NULL THEN 'PL004' ELSE 'PL020' END,
            DETAIL = json_build_object('class', p_name);
    END IF;
    UPDATE /* resource_class_rename 2/2 */ resource_classes SET name = p_new_name, updated_at = now()
    WHERE id = v_id AND name <> p_new_name;
END
$$;

--
-- Name: FUNCTION resource_class_rename(p_name text, p_new_name text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.resource_class_rename(p_name text, p_new_name text) IS 'PUT /resource_classes/{name} before microversion 1.7: renames a custom class.

Raises PL004 (no such class), PL020 (a standard class) and 23505 (resource_classes_name_key). Locks: the
class.';

--
-- Name: state_read(uuid[], uuid[], text[], text[], boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.state_read(p_providers uuid[], p_consumers uuid[], p_classes text[], p_traits text[], p_brief boolean, OUT provider_ids bigint[], OUT provider_uuids uuid[], OUT providers json, OUT consumers uuid[], OUT generations bigint[], OUT projects text[], OUT users text[], OUT types text[], OUT holders integer[], OUT held bigint[], OUT held_classes integer[], OUT amounts bigint[], OUT class_ids integer[], OUT class_names text[], OUT classes text[], OUT traits text[]) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_consumers record;
    v_providers record;
BEGIN
    v_consumers := state_read_consumers(p_consumers);
    v_providers := state_read_providers(p_providers, v_consumers.held, p_brief);
    provider_ids := v_providers.ids;
    provider_uuids := v_providers.uuids;
    providers := v_providers.states;
    consumers := v_consumers.uuids;
    generations := v_consumers.generations;
    projects := v_consumers.projects;
    users := v_consumers.users;
    types := v_consumers.types;
    holders := v_consumers.holders;
    held := v_consumers.held;
    held_classes := v_consumers.classes;
    amounts := v_consumers.amounts;
    class_ids := '{}';
    class_names := '{}';
    IF held <> '{}' THEN
        SELECT /* state_read 1/3 */ array_agg(found.id), array_agg(found.name) INTO class_ids, class_names
        FROM resource_classes AS found WHERE found.id = ANY (held_classes);
    END IF;
    classes := '{}';
    IF p_classes <> '{}' THEN
        classes := ARRAY(SELECT /* state_read 2/3 */ class.name FROM resource_classes AS class
            WHERE class.name = ANY (p_classes) ORDER BY class.name);
    END IF;
    traits := '{}';
    IF p_traits <> '{}' THEN
        traits := ARRAY(SELECT /* state_read 3/3 */ trait.name FROM traits AS trait
            WHERE trait.name = ANY (p_traits) ORDER BY trait.name);
    END IF;
END
$$;

--
-- Name: FUNCTION state_read(p_providers uuid[], p_consumers uuid[], p_classes text[], p_traits text[], p_brief boolean, OUT provider_ids bigint[], OUT provider_uuids uuid[], OUT providers json, OUT consumers uuid[], OUT generations bigint[], OUT projects text[], OUT users text[], OUT types text[], OUT holders integer[], OUT held bigint[], OUT held_classes integer[], OUT amounts bigint[], OUT class_ids integer[], OUT class_names text[], OUT classes text[], OUT traits text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.state_read(p_providers uuid[], p_consumers uuid[], p_classes text[], p_traits text[], p_brief boolean, OUT provider_ids bigint[], OUT provider_uuids uuid[], OUT providers json, OUT consumers uuid[], OUT generations bigint[], OUT projects text[], OUT users text[], OUT types text[], OUT holders integer[], OUT held bigint[], OUT held_classes integer[], OUT amounts bigint[], OUT class_ids integer[], OUT class_names text[], OUT classes text[], OUT traits text[]) IS 'Returns providers, consumers, resource classes and traits as the API shows them, for a dry run: before and after the
write. Names that do not exist are missing in the result.

The providers are those of p_providers and those on which the consumers have allocations. They are few: providers has their
states by UUID, with usages by the classes of the inventories, traits sorted by name, and aggregates by UUID. Consumers
and allocations can be thousands, so they are arrays, one element for each: a JSON object of each would cost several
times as much, while the transaction of the write holds its locks. A consumer without a type has an empty one. An
allocation has the position of its consumer, an id in provider_ids and an id in class_ids, the classes of allocations.
With p_brief, providers lack their parents, traits and aggregates, which a write of allocations does not change.
Called by the query StateShow. Calls: state_read_consumers, state_read_providers. Locks nothing.
Plan: unique keys of the names.';

--
-- Name: state_read_consumers(uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.state_read_consumers(p_consumers uuid[], OUT uuids uuid[], OUT generations bigint[], OUT projects text[], OUT users text[], OUT types text[], OUT holders integer[], OUT held bigint[], OUT classes integer[], OUT amounts bigint[]) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_ids bigint[] := '{}'::bigint[];
BEGIN
    uuids := '{}';
    generations := '{}';
    projects := '{}';
    users := '{}';
    types := '{}';
    holders := '{}';
    held := '{}';
    classes := '{}';
    amounts := '{}';
    IF p_consumers <> '{}' THEN
        SELECT /* state_read_consumers 1/2 */
            coalesce(array_agg(consumer.id), '{}'), coalesce(array_agg(consumer.uuid), '{}'),
            coalesce(array_agg(consumer.generation), '{}'), coalesce(array_agg(consumer.project), '{}'),
            coalesce(array_agg(consumer.owner), '{}'), coalesce(array_agg(consumer.type), '{}')
        INTO v_ids, uuids, generations, projects, users, types
        FROM unnest(p_consumers) AS requested (uuid)
        CROSS JOIN LATERAL (
            SELECT one.id, one.uuid, one.generation,
                (SELECT project.external_id FROM projects AS project WHERE project.id = one.project_id) AS project,
                (SELECT owner.external_id FROM users AS owner WHERE owner.id = one.user_id) AS owner,
                coalesce((SELECT type.name FROM consumer_types AS type WHERE type.id = one.consumer_type_id), '') AS type
            FROM consumers AS one WHERE one.uuid = requested.uuid OFFSET 0
        ) AS consumer;
    END IF;
    IF v_ids <> '{}' THEN
        SELECT /* state_read_consumers 2/2 */
            coalesce(array_agg(listed.position::int), '{}'), coalesce(array_agg(allocation.provider_id), '{}'),
            coalesce(array_agg(allocation.class_id), '{}'), coalesce(array_agg(allocation.used), '{}')
        INTO holders, held, classes, amounts
        FROM unnest(v_ids) WITH ORDINALITY AS listed (id, position)
        CROSS JOIN LATERAL (
            SELECT one.provider_id, one.class_id, one.used FROM allocations AS one WHERE one.consumer_id = listed.id OFFSET 0
        ) AS allocation;
    END IF;
END
$$;

--
-- Name: FUNCTION state_read_consumers(p_consumers uuid[], OUT uuids uuid[], OUT generations bigint[], OUT projects text[], OUT users text[], OUT types text[], OUT holders integer[], OUT held bigint[], OUT classes integer[], OUT amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.state_read_consumers(p_consumers uuid[], OUT uuids uuid[], OUT generations bigint[], OUT projects text[], OUT users text[], OUT types text[], OUT holders integer[], OUT held bigint[], OUT classes integer[], OUT amounts bigint[]) IS 'Returns the consumers that exist, with their allocations, as arrays: see state_read.

holders: positions of the consumers of the allocations. held: ids of their providers. Locks nothing.
Plan: consumers_uuid_key, consumers_pkey, then ranges of allocations_pkey, each a look-up for every consumer.';

--
-- Name: state_read_providers(uuid[], bigint[], boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.state_read_providers(p_named uuid[], p_held bigint[], p_brief boolean, OUT ids bigint[], OUT uuids uuid[], OUT states json) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    ids := '{}';
    uuids := '{}';
    states := '{}';
    IF p_named = '{}' AND p_held = '{}' THEN
        RETURN;
    END IF;
    IF p_brief THEN
        SELECT /* state_read_providers 1/2 */
            coalesce(array_agg(provider.id), '{}'), coalesce(array_agg(provider.uuid), '{}'),
            coalesce(json_object_agg(provider.uuid, json_build_object(
                'name', provider.name, 'generation', provider.generation,
                'inventories', coalesce(records.inventories, '{}'), 'usages', coalesce(records.usages, '{}'))), '{}')
        INTO ids, uuids, states
        FROM (
            SELECT found.id FROM unnest(p_named) AS named (uuid)
            CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.uuid = named.uuid OFFSET 0) AS found
            UNION SELECT listed.id FROM unnest(p_held) AS listed (id)
        ) AS shown
        CROSS JOIN LATERAL (
            SELECT one.id, one.uuid, one.name,
                (SELECT generation_row.generation FROM provider_generations AS generation_row
                    WHERE generation_row.provider_id = one.id) AS generation
            FROM resource_providers AS one WHERE one.id = shown.id OFFSET 0
        ) AS provider
        CROSS JOIN LATERAL (
            SELECT json_object_agg(class.name, json_build_object(
                    'total', inventory.total, 'reserved', inventory.reserved, 'min_unit', inventory.min_unit,
                    'max_unit', inventory.max_unit, 'step_size', inventory.step_size,
                    'allocation_ratio', inventory.allocation_ratio)) AS inventories,
                json_object_agg(class.name, inventory.used) AS usages
            FROM inventories AS inventory
            CROSS JOIN LATERAL (SELECT named.name FROM resource_classes AS named WHERE named.id = inventory.class_id OFFSET 0) AS class
            WHERE inventory.provider_id = shown.id
        ) AS records;
        RETURN;
    END IF;
    SELECT /* state_read_providers 2/2 */
        coalesce(array_agg(provider.id), '{}'), coalesce(array_agg(provider.uuid), '{}'),
        coalesce(json_object_agg(provider.uuid, json_build_object(
            'name', provider.name, 'parent', provider.parent, 'generation', provider.generation,
            'inventories', coalesce(records.inventories, '{}'), 'usages', coalesce(records.usages, '{}'),
            'traits', provider.traits, 'aggregates', provider.aggregates)), '{}')
    INTO ids, uuids, states
    FROM (
        SELECT found.id FROM unnest(p_named) AS named (uuid)
        CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.uuid = named.uuid OFFSET 0) AS found
        UNION SELECT listed.id FROM unnest(p_held) AS listed (id)
    ) AS shown
    CROSS JOIN LATERAL (
        SELECT one.id, one.uuid, one.name,
            (SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = one.parent_id) AS parent,
            (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = one.id) AS generation,
            ARRAY(SELECT trait.name FROM provider_traits AS link
                CROSS JOIN LATERAL (SELECT named.name FROM traits AS named WHERE named.id = link.trait_id OFFSET 0) AS trait
                WHERE link.provider_id = one.id ORDER BY trait.name) AS traits,
            ARRAY(SELECT aggregate.uuid FROM provider_aggregates AS link
                CROSS JOIN LATERAL (SELECT named.uuid FROM aggregates AS named WHERE named.id = link.aggregate_id OFFSET 0) AS aggregate
                WHERE link.provider_id = one.id ORDER BY aggregate.uuid) AS aggregates
        FROM resource_providers AS one WHERE one.id = shown.id OFFSET 0
    ) AS provider
    CROSS JOIN LATERAL (
        SELECT json_object_agg(class.name, json_build_object(
                'total', inventory.total, 'reserved', inventory.reserved, 'min_unit', inventory.min_unit,
                'max_unit', inventory.max_unit, 'step_size', inventory.step_size,
                'allocation_ratio', inventory.allocation_ratio)) AS inventories,
            json_object_agg(class.name, inventory.used) AS usages
        FROM inventories AS inventory
        CROSS JOIN LATERAL (SELECT named.name FROM resource_classes AS named WHERE named.id = inventory.class_id OFFSET 0) AS class
        WHERE inventory.provider_id = shown.id
    ) AS records;
END
$$;

--
-- Name: FUNCTION state_read_providers(p_named uuid[], p_held bigint[], p_brief boolean, OUT ids bigint[], OUT uuids uuid[], OUT states json); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.state_read_providers(p_named uuid[], p_held bigint[], p_brief boolean, OUT ids bigint[], OUT uuids uuid[], OUT states json) IS 'Returns the providers that exist of those with the UUIDs p_named and the ids p_held, and their states by UUID: see
state_read. With p_brief, states lacks their parents, traits and aggregates.

Locks nothing. Plan: keys of the providers, then ranges of the primary keys of the other tables.';

--
-- Name: trait_delete(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.trait_delete(p_name text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id int;
    v_rule text;
BEGIN
    SELECT /* trait_delete 1/3 */ trait.id INTO v_id FROM traits AS trait WHERE trait.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_id IS NULL THEN 'PL013'
        WHEN NOT starts_with(p_name, 'CUSTOM_') THEN 'PL021'
        WHEN EXISTS (SELECT /* trait_delete 2/3 */ FROM provider_traits AS existing
            WHERE existing.trait_id = v_id) THEN 'PL023'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'trait % cannot be deleted', p_name USING ERRCODE = v_rule,
            DETAIL = json_build_object('traits', p_name);
    END IF;
    DELETE /* trait_delete 3/3 */ FROM traits WHERE id = v_id;
END
$$;

--
-- Name: FUNCTION trait_delete(p_name text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.trait_delete(p_name text) IS 'DELETE /traits/{name}.

Raises PL013 (no such trait), PL021 (a standard trait), PL023 (a provider has it). Locks: the trait FOR
UPDATE; an insertion into provider_traits waits for this lock through its foreign key.';

--
-- Name: tree_changes(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_changes(p_changes jsonb) RETURNS TABLE(request_position bigint, provider uuid, provider_id bigint, root_id bigint, generation bigint, is_deleted boolean, given bigint, name text, parent uuid, name_differs boolean, parent_differs boolean, inventories jsonb, records jsonb, traits jsonb, aggregates jsonb)
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT /* tree_changes 1/1 */ change.*
    FROM jsonb_to_recordset(p_changes) AS change (request_position bigint, provider uuid, provider_id bigint,
        root_id bigint, generation bigint, is_deleted bool, given bigint, name text, parent uuid, name_differs bool,
        parent_differs bool, inventories jsonb, records jsonb, traits jsonb, aggregates jsonb);
$$;

--
-- Name: FUNCTION tree_changes(p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_changes(p_changes jsonb) IS 'Returns the rows of tree_differences that tree_replace passes on as JSON to the functions of its steps.';

--
-- Name: tree_check(uuid, bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_check(p_root uuid, p_root_id bigint, p_changes jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_root record;
    v_wrong record;
BEGIN
    SELECT /* tree_check 1/7 */ provider.id, provider.root_id INTO v_root FROM resource_providers AS provider
    WHERE provider.uuid = p_root;
    IF v_root.id IS DISTINCT FROM p_root_id THEN
        RAISE EXCEPTION 'provider % was created concurrently', p_root USING ERRCODE = '40001';
    END IF;
    IF v_root.id IS NULL AND NOT EXISTS (SELECT /* tree_check 2/7 */ FROM tree_changes(p_changes) AS change
        WHERE change.provider = p_root AND NOT change.is_deleted) THEN
        RAISE EXCEPTION 'no resource provider %', p_root USING ERRCODE = 'PL001',
            DETAIL = json_build_object('provider', p_root);
    END IF;
    IF v_root.root_id <> v_root.id THEN
        RAISE EXCEPTION 'provider % is not a root', p_root USING ERRCODE = 'PL072',
            DETAIL = json_build_object('provider', p_root, 'root', (SELECT /* tree_check 3/7 */ root.uuid
                FROM resource_providers AS root WHERE root.id = v_root.root_id));
    END IF;

    SELECT /* tree_check 4/7 */ change.provider, (SELECT root.uuid FROM resource_providers AS root
            WHERE root.id = change.root_id) AS root
    INTO v_wrong FROM tree_changes(p_changes) AS change
    WHERE change.root_id IS NOT NULL AND change.root_id IS DISTINCT FROM p_root_id
    ORDER BY change.request_position LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'provider % is in the tree of %', v_wrong.provider, v_wrong.root USING ERRCODE = 'PL073',
            DETAIL = json_build_object('provider', v_wrong.provider, 'root', v_wrong.root);
    END IF;
    SELECT /* tree_check 5/7 */ change.provider, change.parent INTO v_wrong
    FROM tree_changes(p_changes) AS change
    LEFT JOIN tree_changes(p_changes) AS named ON named.provider = change.parent
    WHERE change.parent IS NOT NULL AND CASE
        WHEN named.provider IS NOT NULL THEN named.is_deleted
        ELSE (SELECT parent.root_id FROM resource_providers AS parent WHERE parent.uuid = change.parent)
            IS DISTINCT FROM p_root_id OR p_root_id IS NULL END
    ORDER BY change.request_position LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'parent % of provider % is not in the tree', v_wrong.parent, v_wrong.provider
            USING ERRCODE = 'PL074', DETAIL = json_build_object('provider', v_wrong.provider, 'parent', v_wrong.parent);
    END IF;
    PERFORM /* tree_check 6/7 */ tree_check_parents(p_changes);

    SELECT /* tree_check 7/7 */ change.provider, change.generation AS actual, change.given INTO v_wrong
    FROM tree_changes(p_changes) AS change
    WHERE change.generation IS DISTINCT FROM change.given
    ORDER BY change.request_position LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'generation of provider % is %, not %', v_wrong.provider, v_wrong.actual, v_wrong.given
            USING ERRCODE = 'PL002', DETAIL = json_build_object('provider', v_wrong.provider,
                'actual', v_wrong.actual, 'given', v_wrong.given);
    END IF;
END
$$;

--
-- Name: FUNCTION tree_check(p_root uuid, p_root_id bigint, p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_check(p_root uuid, p_root_id bigint, p_changes jsonb) IS 'Compares PUT /resource_providers/{uuid}/tree with the tree: its root, its providers, their parents and generations.

p_root_id: the locked provider of the path, null if it did not exist. p_changes: tree_differences under the locks.
Raises, in this order: PL001 (the provider of the path neither exists nor is named), PL072 (it is not a root), PL073
(a provider is in another tree), PL074 (a parent is neither named nor in the tree, or is deleted), PL019 (see
tree_check_parents), PL002 (a generation; null for a provider that does not exist), each for the first provider of the
request, and 40001 if the provider of the path was created since. Locks nothing.
Calls: tree_check_parents.';

--
-- Name: tree_check_parents(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_check_parents(p_changes jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_cycle uuid[];
BEGIN
    IF NOT EXISTS (SELECT /* tree_check_parents 1/2 */ FROM tree_changes(p_changes) AS change
        WHERE change.parent_differs AND change.provider_id IS NOT NULL) THEN
        RETURN;
    END IF;
    WITH /* tree_check_parents 2/2 */ RECURSIVE change AS MATERIALIZED (
        SELECT named.* FROM tree_changes(p_changes) AS named WHERE NOT named.is_deleted
    ), walk AS (
        SELECT moved.request_position, ARRAY[moved.provider] AS path, moved.parent AS ancestor
        FROM change AS moved WHERE moved.parent_differs AND moved.provider_id IS NOT NULL
        UNION ALL
        SELECT walk.request_position, walk.path || walk.ancestor,
            CASE WHEN named.provider IS NOT NULL THEN named.parent
                ELSE (SELECT (SELECT above.uuid FROM resource_providers AS above WHERE above.id = provider.parent_id)
                    FROM resource_providers AS provider WHERE provider.uuid = walk.ancestor) END
        FROM walk LEFT JOIN change AS named ON named.provider = walk.ancestor
        WHERE walk.ancestor <> ALL (walk.path)
    )
    SELECT walk.path INTO v_cycle FROM walk WHERE walk.ancestor = walk.path[1]
    ORDER BY walk.request_position LIMIT 1;
    IF v_cycle IS NOT NULL THEN
        RAISE EXCEPTION 'providers % are ancestors of each other', v_cycle USING ERRCODE = 'PL019',
            DETAIL = json_build_object('providers', array_to_string(v_cycle, ', '));
    END IF;
END
$$;

--
-- Name: FUNCTION tree_check_parents(p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_check_parents(p_changes jsonb) IS 'Rejects new parents that make a parent cycle with providers that the request does not name.

p_changes: see tree_check. The caller has rejected cycles of named providers before. Raises PL019 with the UUIDs of the
providers of the first cycle. Locks nothing; the caller has locked the root.';

--
-- Name: tree_check_values(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_check_values(p_changes jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_name text;
    v_unknown text[];
BEGIN
    SELECT /* tree_check_values 1/4 */ named.name INTO v_name
    FROM (
        SELECT change.request_position, change.provider, change.name,
            count(*) OVER (PARTITION BY change.name ORDER BY change.request_position) AS uses
        FROM tree_changes(p_changes) AS change WHERE change.name_differs
    ) AS named
    WHERE named.uses > 1 OR EXISTS (SELECT FROM resource_providers AS other
        -- Another request can have created the provider itself since; the write finds out, and is retried.
        WHERE other.name = named.name AND other.uuid <> named.provider)
    ORDER BY named.request_position LIMIT 1;
    IF v_name IS NOT NULL THEN
        RAISE EXCEPTION 'provider name % is taken', v_name USING ERRCODE = 'PL077',
            DETAIL = json_build_object('name', v_name);
    END IF;
    PERFORM /* tree_check_values 2/4 */ resource_class_ids(ARRAY(
        SELECT record ->> 'class' FROM tree_changes(p_changes) AS change
        CROSS JOIN jsonb_array_elements(change.inventories) WITH ORDINALITY AS item (record, position)
        ORDER BY change.request_position, item.position));
    SELECT /* tree_check_values 3/4 */ array_agg(DISTINCT wanted.name) INTO v_unknown
    FROM tree_changes(p_changes) AS change CROSS JOIN jsonb_array_elements_text(change.traits) AS wanted (name)
    WHERE NOT EXISTS (SELECT FROM traits AS trait WHERE trait.name = wanted.name);
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no traits %', v_unknown USING ERRCODE = 'PL013',
            DETAIL = json_build_object('traits', array_to_string(v_unknown, ', '));
    END IF;
    PERFORM /* tree_check_values 4/4 */ inventory_check_capacity(change.provider, change.records, 0)
    FROM (SELECT one.provider, one.records FROM tree_changes(p_changes) AS one
        WHERE one.records IS NOT NULL ORDER BY one.request_position) AS change;
END
$$;

--
-- Name: FUNCTION tree_check_values(p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_check_values(p_changes jsonb) IS 'Rejects names and inventory records of PUT /resource_providers/{uuid}/tree.

p_changes: see tree_check. Raises, in this order: PL077 (another provider has or gets the name of a new or renamed
provider; a name is free only if no provider has it before the request), PL004 (unknown class), PL013 (unknown
traits, all of them), PL006 (a changed record has more reserved than total), each for the first of the request.
Locks nothing. The write raises 23505 (resource_providers_name_key) for a name that is taken after this check.
Calls: inventory_check_capacity for each provider with changed records.';

--
-- Name: tree_class_add(bigint, integer, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_class_add(p_root_id bigint, p_class_id integer, p_providers integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_providers > 0 THEN
        INSERT /* tree_class_add 1/3 */ INTO tree_classes AS existing (root_id, class_id, providers)
        VALUES (p_root_id, p_class_id, p_providers)
        ON CONFLICT (root_id, class_id) DO UPDATE SET providers = existing.providers + excluded.providers;
        RETURN;
    END IF;
    DELETE /* tree_class_add 2/3 */ FROM tree_classes
    WHERE root_id = p_root_id AND class_id = p_class_id AND providers <= -p_providers;
    IF NOT FOUND THEN
        UPDATE /* tree_class_add 3/3 */ tree_classes SET providers = providers + p_providers
        WHERE root_id = p_root_id AND class_id = p_class_id;
    END IF;
END
$$;

--
-- Name: FUNCTION tree_class_add(p_root_id bigint, p_class_id integer, p_providers integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_class_add(p_root_id bigint, p_class_id integer, p_providers integer) IS 'Adds to the number of providers of a tree with an inventory of a class. p_providers is negative for
inventories that are deleted or moved to another tree.

A row that becomes 0 is deleted, so that the table has no rows of deleted trees and classes. Called by
tree_class_count and provider_reparent. The caller has locked the root FOR NO KEY UPDATE, or deletes it.';

--
-- Name: tree_class_count(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_class_count() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_lost record;
BEGIN
    IF TG_OP = 'INSERT' THEN
        -- No rows if all inventories existed: ON CONFLICT DO UPDATE inserts none.
        INSERT /* tree_class_count 1/3 */ INTO tree_classes AS existing (root_id, class_id, providers)
        SELECT changed.root_id, changed.class_id, count(*)
        FROM changed GROUP BY changed.root_id, changed.class_id ORDER BY changed.root_id, changed.class_id
        ON CONFLICT (root_id, class_id) DO UPDATE SET providers = existing.providers + excluded.providers;
        RETURN NULL;
    END IF;
    FOR v_lost IN SELECT /* tree_class_count 2/3 */ changed.root_id, changed.class_id, count(*)::int AS providers
        FROM changed GROUP BY changed.root_id, changed.class_id ORDER BY changed.root_id, changed.class_id LOOP
        PERFORM /* tree_class_count 3/3 */ tree_class_add(v_lost.root_id, v_lost.class_id, -v_lost.providers);
    END LOOP;
    RETURN NULL;
END
$$;

--
-- Name: FUNCTION tree_class_count(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_class_count() IS 'Trigger: maintains tree_classes, the number of providers of a tree with an inventory of a class.

Runs after every statement that inserts or deletes inventories, also in bulk. Claims update inventories
and therefore do not run it; provider_reparent, which updates root_id, counts by itself. The caller has
locked the root FOR NO KEY UPDATE (provider_lock_root), or deletes it. Calls, for deleted rows:
tree_class_add for each tree and class.';

--
-- Name: tree_compare(jsonb, jsonb, uuid[], text[], text[], text[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_compare(p_providers jsonb, p_deleted jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_owners integer[], p_allocated uuid[], p_classes text[], p_amounts bigint[], OUT shown jsonb, OUT changes jsonb) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_consumers jsonb;
BEGIN
    changes := (SELECT /* tree_compare 1/2 */ coalesce(jsonb_agg(to_jsonb(difference) ORDER BY difference.request_position), '[]')
        FROM tree_differences(p_providers, p_deleted) AS difference);
    v_consumers := (SELECT /* tree_compare 2/2 */ coalesce(jsonb_agg(to_jsonb(difference) ORDER BY difference.request_position), '[]')
        FROM tree_consumer_differences(p_consumers, p_projects, p_users, p_types, p_owners, p_allocated, p_classes,
            p_amounts) AS difference);
    IF NOT tree_differs(changes, v_consumers) THEN
        shown := tree_show(changes, v_consumers, '{}');
    END IF;
END
$$;

--
-- Name: FUNCTION tree_compare(p_providers jsonb, p_deleted jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_owners integer[], p_allocated uuid[], p_classes text[], p_amounts bigint[], OUT shown jsonb, OUT changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_compare(p_providers jsonb, p_deleted jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_owners integer[], p_allocated uuid[], p_classes text[], p_amounts bigint[], OUT shown jsonb, OUT changes jsonb) IS 'Compares the request of PUT /resource_providers/{uuid}/tree with what is there, in one snapshot.

Arguments as in tree_replace. shown: the result if nothing differs (see tree_show), else null. changes: the rows of
tree_differences as JSON.
It is STABLE, so all its statements use the snapshot of the calling one: the generations in shown belong to the state that
equals the request. Locks nothing.
Calls: tree_differences, tree_consumer_differences, tree_differs, tree_show.';

--
-- Name: tree_consumer_differences(uuid[], text[], text[], text[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_consumer_differences(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS TABLE(request_position bigint, consumer uuid, consumer_id bigint, generation bigint, differs boolean)
    LANGUAGE sql STABLE
    AS $$
    WITH /* tree_consumer_differences 1/1 */ requested AS MATERIALIZED (
        SELECT item.position, item.uuid, existing.id, existing.generation,
            existing.project = item.project AND existing.owner = item.owner
                AND (item.type = '' OR existing.type IS NOT DISTINCT FROM item.type) AS same_owner,
            (SELECT count(*) FROM allocations AS allocation WHERE allocation.consumer_id = existing.id) AS had
        FROM unnest(p_consumers, p_projects, p_users, p_types) WITH ORDINALITY
            AS item (uuid, project, owner, type, position)
        LEFT JOIN LATERAL (
            SELECT consumer.id, consumer.generation,
                (SELECT project.external_id FROM projects AS project WHERE project.id = consumer.project_id) AS project,
                (SELECT owner.external_id FROM users AS owner WHERE owner.id = consumer.user_id) AS owner,
                (SELECT type.name FROM consumer_types AS type WHERE type.id = consumer.consumer_type_id) AS type
            FROM consumers AS consumer WHERE consumer.uuid = item.uuid OFFSET 0
        ) AS existing ON true
    ), wanted AS (
        SELECT item.owner, count(*) AS amounts, count(*) FILTER (WHERE had.used = item.amount) AS same
        FROM unnest(p_owners, p_providers, p_classes, p_amounts) AS item (owner, provider, class, amount)
        LEFT JOIN LATERAL (
            SELECT allocation.used FROM allocations AS allocation
            WHERE allocation.consumer_id = (SELECT consumer.id FROM consumers AS consumer
                WHERE consumer.uuid = p_consumers[item.owner])
              AND allocation.provider_id = (SELECT provider.id FROM resource_providers AS provider
                WHERE provider.uuid = item.provider)
              AND allocation.class_id = (SELECT class.id FROM resource_classes AS class WHERE class.name = item.class)
            OFFSET 0
        ) AS had ON true
        GROUP BY item.owner
    )
    SELECT requested.position, requested.uuid, requested.id, requested.generation,
        CASE WHEN requested.id IS NULL THEN wanted.owner IS NOT NULL
            ELSE NOT requested.same_owner OR requested.had <> coalesce(wanted.amounts, 0)
                OR coalesce(wanted.amounts, 0) <> coalesce(wanted.same, 0) END
    FROM requested LEFT JOIN wanted ON wanted.owner = requested.position
    ORDER BY requested.position;
$$;

--
-- Name: FUNCTION tree_consumer_differences(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_consumer_differences(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) IS 'Returns a row for each consumer of PUT /resource_providers/{uuid}/tree, and whether it differs from the request.

Arguments as in allocation_replace. consumer_id and generation are null for a consumer that does not exist; it
differs if the request has allocations of it. Locks nothing.
Plan: keys, and the range of each consumer in allocations_pkey.';

--
-- Name: tree_delete(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_delete(p_changes jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_ids bigint[];
    v_uuids uuid[];
    v_rules record;
BEGIN
    SELECT /* tree_delete 1/3 */ array_agg(change.provider_id ORDER BY change.request_position),
        array_agg(change.provider ORDER BY change.request_position)
    INTO v_ids, v_uuids
    FROM tree_changes(p_changes) AS change WHERE change.is_deleted AND change.provider_id IS NOT NULL;
    SELECT /* tree_delete 2/3 */
        min(deleted.position) FILTER (WHERE EXISTS (SELECT FROM allocations AS allocation
            WHERE allocation.provider_id = deleted.id)) AS in_use,
        min(deleted.position) FILTER (WHERE EXISTS (SELECT FROM resource_providers AS child
            WHERE child.parent_id = deleted.id AND child.id <> ALL (v_ids))) AS parent
    INTO v_rules FROM unnest(v_ids) WITH ORDINALITY AS deleted (id, position);
    IF v_rules.in_use IS NOT NULL OR v_rules.parent IS NOT NULL THEN
        RAISE EXCEPTION 'provider % cannot be deleted', v_uuids[coalesce(v_rules.in_use, v_rules.parent)]
            USING ERRCODE = CASE WHEN v_rules.in_use IS NULL THEN 'PL014' ELSE 'PL015' END,
            DETAIL = json_build_object('provider', v_uuids[coalesce(v_rules.in_use, v_rules.parent)]);
    END IF;

    -- One statement: the triggers that copy traits and aggregates find no row to write.
    WITH /* tree_delete 3/3 */ inventory AS (
        DELETE FROM inventories WHERE provider_id = ANY (v_ids)
    ), trait AS (
        DELETE FROM provider_traits WHERE provider_id = ANY (v_ids)
    ), aggregate AS (
        DELETE FROM provider_aggregates WHERE provider_id = ANY (v_ids)
    ), generation AS (
        DELETE FROM provider_generations WHERE provider_id = ANY (v_ids)
    )
    DELETE FROM resource_providers WHERE id = ANY (v_ids);
END
$$;

--
-- Name: FUNCTION tree_delete(p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_delete(p_changes jsonb) IS 'Deletes the providers that PUT /resource_providers/{uuid}/tree lists for deletion, with their inventories, traits and
aggregate memberships.

p_changes: see tree_check. Raises, each for the first of the request, PL015 (has allocations), then PL014 (has children
that are not deleted). The caller has locked the rows FOR UPDATE, their generations and the root.';

--
-- Name: tree_differences(jsonb, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_differences(p_providers jsonb, p_deleted jsonb) RETURNS TABLE(request_position bigint, provider uuid, provider_id bigint, root_id bigint, generation bigint, is_deleted boolean, given bigint, name text, parent uuid, name_differs boolean, parent_differs boolean, inventories jsonb, records jsonb, traits jsonb, aggregates jsonb)
    LANGUAGE sql STABLE
    AS $$
    SELECT /* tree_differences 1/1 */ item.position, item.uuid, existing.id, existing.root_id, existing.generation,
        false, item.generation, item.name, item.parent,
        item.name IS DISTINCT FROM existing.name, item.parent IS DISTINCT FROM existing.parent,
        CASE WHEN changed.records IS NOT NULL THEN item.inventories END, changed.records,
        CASE WHEN item.traits IS NOT NULL AND coalesce(existing.trait_ids, '{}') <> ARRAY(
            SELECT DISTINCT (SELECT trait.id FROM traits AS trait WHERE trait.name = wanted.name) AS id
            FROM jsonb_array_elements_text(item.traits) AS wanted (name) ORDER BY id) THEN item.traits END,
        CASE WHEN item.aggregates IS NOT NULL AND coalesce(existing.aggregate_ids, '{}') <> ARRAY(
            SELECT DISTINCT (SELECT aggregate.id FROM aggregates AS aggregate
                WHERE aggregate.uuid = wanted.uuid::uuid) AS id
            FROM jsonb_array_elements_text(item.aggregates) AS wanted (uuid) ORDER BY id) THEN item.aggregates END
    FROM ROWS FROM (jsonb_to_recordset(p_providers) AS (uuid uuid, name text, parent uuid, generation bigint,
            inventories jsonb, traits jsonb, aggregates jsonb)) WITH ORDINALITY
        AS item (uuid, name, parent, generation, inventories, traits, aggregates, position)
    LEFT JOIN LATERAL (
        SELECT provider.id, provider.root_id, provider.name, provider.trait_ids, provider.aggregate_ids,
            (SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = provider.parent_id) AS parent,
            (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = provider.id) AS generation
        FROM resource_providers AS provider WHERE provider.uuid = item.uuid OFFSET 0
    ) AS existing ON true
    CROSS JOIN LATERAL (SELECT inventory_changes(existing.id, item.inventories) AS records OFFSET 0) AS changed
    UNION ALL
    SELECT 2147483648 + item.position, item.uuid, existing.id, existing.root_id, existing.generation,
        true, item.generation, NULL, NULL, false, false, NULL, NULL, NULL, NULL
    FROM ROWS FROM (jsonb_to_recordset(p_deleted) AS (uuid uuid, generation bigint)) WITH ORDINALITY
        AS item (uuid, generation, position)
    LEFT JOIN LATERAL (
        SELECT provider.id, provider.root_id,
            (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = provider.id) AS generation
        FROM resource_providers AS provider WHERE provider.uuid = item.uuid OFFSET 0
    ) AS existing ON true
    ORDER BY 1;
$$;

--
-- Name: FUNCTION tree_differences(p_providers jsonb, p_deleted jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_differences(p_providers jsonb, p_deleted jsonb) IS 'Returns a row for each provider of PUT /resource_providers/{uuid}/tree: what is there, and what differs from the request.

p_providers: JSON array of {uuid, name, parent, generation, inventories, traits, aggregates}; inventories are records
as in inventory_write, the last three are null or missing if they stay as they are. p_deleted: JSON array of {uuid,
generation}. provider_id, root_id and generation are null for a provider that does not exist. inventories, traits and
aggregates are the requested ones, records the changed records (see inventory_changes); each is null if nothing
differs. Traits and aggregates that do not exist differ. Locks nothing.
Plan: keys, and the range of each provider in inventories_pkey.
Calls: inventory_changes for each provider.';

--
-- Name: tree_differs(jsonb, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_differs(p_changes jsonb, p_consumers jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT /* tree_differs 1/1 */ EXISTS (
        SELECT FROM tree_changes(p_changes) AS change
        WHERE CASE WHEN change.is_deleted THEN change.provider_id IS NOT NULL
            ELSE change.provider_id IS NULL OR change.name_differs OR change.parent_differs
                OR change.records IS NOT NULL OR change.traits IS NOT NULL OR change.aggregates IS NOT NULL END
    ) OR EXISTS (SELECT FROM jsonb_to_recordset(p_consumers) AS consumer (differs bool) WHERE consumer.differs);
$$;

--
-- Name: FUNCTION tree_differs(p_changes jsonb, p_consumers jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_differs(p_changes jsonb, p_consumers jsonb) IS 'Reports whether PUT /resource_providers/{uuid}/tree changes anything.

p_changes, p_consumers: rows of tree_differences and tree_consumer_differences as JSON. Locks nothing.';

--
-- Name: tree_drop_inventories(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_drop_inventories(p_changes jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_dropped record;
    v_used record;
BEGIN
    -- A provider that the request creates has only requested inventories.
    SELECT /* tree_drop_inventories 1/3 */ array_agg(present.provider_id) AS providers, array_agg(present.class_id) AS classes,
        array_agg(change.request_position) FILTER (WHERE present.used > 0) AS positions
    INTO v_dropped
    FROM tree_changes(p_changes) AS change
    CROSS JOIN LATERAL (
        SELECT inventory.provider_id, inventory.class_id, inventory.used, (SELECT class.name
            FROM resource_classes AS class WHERE class.id = inventory.class_id) AS class
        FROM inventories AS inventory WHERE inventory.provider_id = change.provider_id OFFSET 0
    ) AS present
    WHERE change.inventories IS NOT NULL
      AND NOT change.inventories @> jsonb_build_array(jsonb_build_object('class', present.class));
    IF v_dropped.positions IS NOT NULL THEN
        SELECT /* tree_drop_inventories 2/3 */ change.provider, string_agg(class.name, ', ' ORDER BY class.id) AS classes
        INTO v_used
        FROM tree_changes(p_changes) AS change
        JOIN inventories AS inventory ON inventory.provider_id = change.provider_id
        JOIN resource_classes AS class ON class.id = inventory.class_id
        WHERE change.request_position = (SELECT min(used.position) FROM unnest(v_dropped.positions) AS used (position))
          AND inventory.used > 0
          AND NOT change.inventories @> jsonb_build_array(jsonb_build_object('class', class.name))
        GROUP BY change.provider;
        RAISE EXCEPTION 'inventory of % on provider % is in use', v_used.classes, v_used.provider USING ERRCODE = 'PL005',
            DETAIL = json_build_object('provider', v_used.provider, 'class', v_used.classes);
    END IF;
    DELETE /* tree_drop_inventories 3/3 */ FROM inventories AS inventory
    WHERE inventory.provider_id = ANY (v_dropped.providers) AND (inventory.provider_id, inventory.class_id) IN (
        SELECT dropped.provider_id, dropped.class_id
        FROM unnest(v_dropped.providers, v_dropped.classes) AS dropped (provider_id, class_id));
END
$$;

--
-- Name: FUNCTION tree_drop_inventories(p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_drop_inventories(p_changes jsonb) IS 'Deletes the inventories of classes that PUT /resource_providers/{uuid}/tree leaves out.

p_changes: see tree_check. Raises PL005 for the first provider of the request with such a class that still has
allocations, naming all of them (in the order of their ids). The caller has locked the providers and the root. One
statement deletes all, so that tree_class_count writes a row of tree_classes once and not for each provider.';

--
-- Name: tree_ensure_names(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_ensure_names(p_providers jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $_$
BEGIN
    INSERT /* tree_ensure_names 1/3 */ INTO resource_classes (name)
    SELECT DISTINCT wanted.record ->> 'class' AS name
    FROM jsonb_to_recordset(p_providers) AS item (inventories jsonb)
    CROSS JOIN jsonb_array_elements(item.inventories) AS wanted (record)
    WHERE wanted.record ->> 'class' ~ '^CUSTOM_[A-Z0-9_]+$' AND length(wanted.record ->> 'class') <= 255
      AND NOT EXISTS (SELECT FROM resource_classes AS existing WHERE existing.name = wanted.record ->> 'class')
    ORDER BY name ON CONFLICT DO NOTHING;
    INSERT /* tree_ensure_names 2/3 */ INTO traits (name)
    SELECT DISTINCT wanted.name
    FROM jsonb_to_recordset(p_providers) AS item (traits jsonb)
    CROSS JOIN jsonb_array_elements_text(item.traits) AS wanted (name)
    WHERE wanted.name ~ '^CUSTOM_[A-Z0-9_]+$' AND length(wanted.name) <= 255
      AND NOT EXISTS (SELECT FROM traits AS existing WHERE existing.name = wanted.name)
    ORDER BY wanted.name ON CONFLICT DO NOTHING;
    INSERT /* tree_ensure_names 3/3 */ INTO aggregates (uuid)
    SELECT DISTINCT wanted.uuid::uuid AS uuid
    FROM jsonb_to_recordset(p_providers) AS item (aggregates jsonb)
    CROSS JOIN jsonb_array_elements_text(item.aggregates) AS wanted (uuid)
    WHERE NOT EXISTS (SELECT FROM aggregates AS existing WHERE existing.uuid = wanted.uuid::uuid)
    ORDER BY uuid ON CONFLICT DO NOTHING;
END
$_$;

--
-- Name: FUNCTION tree_ensure_names(p_providers jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_ensure_names(p_providers jsonb) IS 'Inserts the custom resource classes, custom traits and aggregates of PUT /resource_providers/{uuid}/tree that do not
exist yet.

p_providers: see tree_differences. If the request fails later, the transaction rolls the rows back. Other unknown
names are left to tree_check_values. Concurrent requests that insert the same names wait for each other.
Locks: the new rows: classes, then traits by name, then aggregates by UUID.';

--
-- Name: tree_lock(uuid, jsonb, bigint[], uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_lock(p_root uuid, p_changes jsonb, p_consumers bigint[], p_providers uuid[], OUT root_id bigint, OUT locked bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_root bigint;
    v_row record;
BEGIN
    locked := '{}'::bigint[];
    SELECT /* tree_lock 1/10 */ provider.id INTO v_root FROM resource_providers AS provider WHERE provider.uuid = p_root;
    -- Lock a root that is deleted FOR UPDATE at once (provider_delete_checked explains why).
    IF EXISTS (SELECT /* tree_lock 2/10 */ FROM tree_changes(p_changes) AS change
        WHERE change.provider = p_root AND change.is_deleted) THEN
        PERFORM /* tree_lock 3/10 */ FROM resource_providers AS root WHERE root.id = v_root FOR UPDATE;
    ELSE
        PERFORM /* tree_lock 4/10 */ FROM resource_providers AS root WHERE root.id = v_root FOR NO KEY UPDATE;
    END IF;
    SELECT /* tree_lock 5/10 */ root.id INTO root_id FROM resource_providers AS root WHERE root.id = v_root;
    IF EXISTS (SELECT /* tree_lock 6/10 */ FROM resource_providers AS root
        WHERE root.id = v_root AND root.root_id <> root.id) THEN
        RETURN;
    END IF;
    FOR v_row IN
        SELECT /* tree_lock 7/10 */ existing.id, max(named.strength) AS strength
        FROM (
            SELECT change.provider AS uuid, CASE WHEN change.is_deleted THEN 3 ELSE 2 END AS strength
            FROM tree_changes(p_changes) AS change
            UNION ALL
            SELECT change.parent, 1 FROM tree_changes(p_changes) AS change WHERE change.parent IS NOT NULL
        ) AS named
        CROSS JOIN LATERAL (
            SELECT provider.id, provider.root_id FROM resource_providers AS provider
            WHERE provider.uuid = named.uuid OFFSET 0
        ) AS existing
        WHERE existing.root_id = v_root
        GROUP BY existing.id ORDER BY existing.id
    LOOP
        PERFORM /* tree_lock 8/10 */ tree_lock_provider(v_row.id, v_row.strength);
        locked := locked || v_row.id;
    END LOOP;
    locked := locked || ARRAY(SELECT /* tree_lock 9/10 */ (SELECT provider.id FROM resource_providers AS provider
        WHERE provider.uuid = named.uuid) FROM unnest(p_providers) AS named (uuid));
    PERFORM /* tree_lock 10/10 */ allocation_lock_providers(p_consumers, locked);
END
$$;

--
-- Name: FUNCTION tree_lock(p_root uuid, p_changes jsonb, p_consumers bigint[], p_providers uuid[], OUT root_id bigint, OUT locked bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_lock(p_root uuid, p_changes jsonb, p_consumers bigint[], p_providers uuid[], OUT root_id bigint, OUT locked bigint[]) IS 'Locks the rows that tree_replace writes, except names and consumers, which the caller has locked.

p_changes: tree_differences before the locks; p_consumers: the locked consumers; p_providers: the providers of the
requested allocations. Returns the id of the provider of the path, null if it does not exist, and the providers whose
generations are locked. If the provider of the path is not a root, it locks nothing more.
Locks: the root FOR NO KEY UPDATE, as provider_lock_root does, or FOR UPDATE if the request deletes it; then in the
order of their ids the rows of the tree''s named providers FOR NO KEY UPDATE, of those to delete FOR UPDATE, of other
requested parents FOR KEY SHARE; then the generations of these and of all providers with new or present allocations
of the consumers. The lock of the root keeps providers from entering and leaving the tree.
Calls: allocation_lock_providers.';

--
-- Name: tree_lock_provider(bigint, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_lock_provider(p_provider_id bigint, p_strength integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_strength = 1 THEN
        PERFORM /* tree_lock_provider 1/3 */ FROM resource_providers AS provider
        WHERE provider.id = p_provider_id FOR KEY SHARE;
    ELSIF p_strength = 2 THEN
        PERFORM /* tree_lock_provider 2/3 */ FROM resource_providers AS provider
        WHERE provider.id = p_provider_id FOR NO KEY UPDATE;
    ELSE
        PERFORM /* tree_lock_provider 3/3 */ FROM resource_providers AS provider
        WHERE provider.id = p_provider_id FOR UPDATE;
    END IF;
END
$$;

--
-- Name: FUNCTION tree_lock_provider(p_provider_id bigint, p_strength integer); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_lock_provider(p_provider_id bigint, p_strength integer) IS 'Locks the row of a provider: p_strength 1 FOR KEY SHARE (a parent), 2 FOR NO KEY UPDATE, 3 FOR UPDATE (to delete it).

The caller has locked the root of its tree.';

--
-- Name: tree_members_at(bigint, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_members_at(p_index bigint, p_provider uuid) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_day date := history_day_of(p_index + 1);
    v_root uuid := (SELECT /* tree_members_at 1/2 */ provider.root FROM history_providers_at(p_index, NULL, ARRAY[p_provider]) AS provider);
BEGIN
    RETURN ARRAY(
        SELECT /* tree_members_at 2/2 */ member.uuid FROM history_providers_at(p_index, NULL, ARRAY(
            SELECT one.uuid FROM resource_providers AS one
            WHERE one.root_id = (SELECT root.id FROM resource_providers AS root WHERE root.uuid = v_root)
            UNION
            SELECT one.provider FROM history AS one
            WHERE one.topic = 'provider' AND one.before ->> 'root' IS DISTINCT FROM one.after ->> 'root' AND one.before ->> 'root' = v_root::text
              AND one.index > p_index AND one.day >= v_day
            UNION
            SELECT change.provider FROM history_pending() AS change
            WHERE change.topic = 'provider' AND change.before ->> 'root' = v_root::text
        )) AS member
        WHERE member.root = v_root);
END
$$;

--
-- Name: FUNCTION tree_members_at(p_index bigint, p_provider uuid); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_members_at(p_index bigint, p_provider uuid) IS 'Returns the UUIDs of the providers that a tree had at an event: the tree in which a provider was then. Empty: it did not exist.

Candidates are the members of now and what has left the tree since. Called by tree_show_at and by the query TreeUsersAt. Locks: none.
Plan: history_providers_at; resource_providers_root_id_idx; history_left_root_idx; history_pending.';

--
-- Name: tree_parts(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_parts(p_changes jsonb) RETURNS TABLE(provider uuid, provider_id bigint, inventories jsonb, records jsonb, traits jsonb, aggregates jsonb)
    LANGUAGE sql STABLE
    AS $$
    SELECT /* tree_parts 1/1 */ change.provider, coalesce(change.provider_id, (SELECT made.id
            FROM resource_providers AS made WHERE made.uuid = change.provider)),
        change.inventories, change.records, change.traits, change.aggregates
    FROM tree_changes(p_changes) AS change
    WHERE change.records IS NOT NULL OR change.traits IS NOT NULL OR change.aggregates IS NOT NULL
    ORDER BY change.request_position;
$$;

--
-- Name: FUNCTION tree_parts(p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_parts(p_changes jsonb) IS 'Returns the providers of PUT /resource_providers/{uuid}/tree whose inventories, traits or aggregates change, with their
ids, also of those that the request creates, in the order of the request.

p_changes: see tree_check. Plan: resource_providers_uuid_key for each new provider.';

--
-- Name: tree_replace(uuid, jsonb, jsonb, uuid[], text[], text[], text[], bigint[], boolean[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_replace(p_root uuid, p_providers jsonb, p_deleted jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generations bigint[], p_unseen boolean[], p_owners integer[], p_allocated uuid[], p_classes text[], p_amounts bigint[]) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_compared record;
    v_changes jsonb;
    v_consumers jsonb;
    v_locked record;
    v_tree record;
    v_usages bigint[];
BEGIN
    SELECT /* tree_replace 1/8 */ * INTO v_compared FROM tree_compare(p_providers, p_deleted, p_consumers, p_projects,
        p_users, p_types, p_owners, p_allocated, p_classes, p_amounts);
    IF v_compared.shown IS NOT NULL THEN
        RETURN v_compared.shown;
    END IF;

    PERFORM /* tree_replace 2/8 */ tree_ensure_names(p_providers);
    v_locked := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    v_tree := tree_lock(p_root, v_compared.changes, v_locked.ids, p_allocated);
    v_changes := (SELECT /* tree_replace 3/8 */ coalesce(jsonb_agg(to_jsonb(difference) ORDER BY difference.request_position), '[]')
        FROM tree_differences(p_providers, p_deleted) AS difference);
    -- consumer_lock has inserted the new consumers, so they are difference now.
    v_consumers := (SELECT /* tree_replace 4/8 */ coalesce(jsonb_agg(jsonb_build_object('request_position', difference.request_position,
            'consumer', difference.consumer, 'differs', difference.differs, 'consumer_id',
            CASE WHEN v_locked.generations[difference.request_position] >= 0 THEN difference.consumer_id END)
            ORDER BY difference.request_position), '[]')
        FROM tree_consumer_differences(p_consumers, p_projects, p_users, p_types, p_owners, p_allocated, p_classes,
            p_amounts) AS difference);
    IF NOT tree_differs(v_changes, v_consumers) THEN
        RAISE EXCEPTION 'the tree of % was changed concurrently', p_root USING ERRCODE = '40001';
    END IF;
    PERFORM /* tree_replace 5/8 */ tree_check(p_root, v_tree.root_id, v_changes);
    PERFORM /* tree_replace 6/8 */ consumer_check_generation(p_consumers, v_locked.generations, p_generations, p_unseen);
    PERFORM /* tree_replace 7/8 */ tree_check_values(v_changes);
    v_usages := tree_write(p_root, v_tree.root_id, v_tree.locked, v_changes, v_locked.ids,
        p_owners, p_allocated, p_classes, p_amounts);
    PERFORM /* tree_replace 8/8 */ consumer_write_changes(v_locked.ids, v_locked.projects, v_locked.users, v_locked.types,
        ARRAY(SELECT was.differs AND was.consumer_id IS NOT NULL
            FROM jsonb_to_recordset(v_consumers) AS was (request_position bigint, consumer_id bigint, differs bool)
            ORDER BY was.request_position));
    RETURN tree_show(v_changes, v_consumers, v_usages);
END
$$;

--
-- Name: FUNCTION tree_replace(p_root uuid, p_providers jsonb, p_deleted jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generations bigint[], p_unseen boolean[], p_owners integer[], p_allocated uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_replace(p_root uuid, p_providers jsonb, p_deleted jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generations bigint[], p_unseen boolean[], p_owners integer[], p_allocated uuid[], p_classes text[], p_amounts bigint[]) IS 'PUT /resource_providers/{uuid}/tree: creates, changes and deletes providers of one tree, and sets allocations of consumers.

p_root: the provider of the path. p_providers, p_deleted: see tree_differences; the caller has checked that no provider
is named twice, that only the root has no parent, and that the named parents make no cycle. The other arguments are
those of allocation_replace. If nothing differs it returns before it takes a lock. Otherwise it takes all locks,
determines the differences again, checks all generations, and writes only what differs. Each provider whose inventories,
traits, aggregates or allocations change gets the next generation, once.
Returns what tree_show describes.
Raises, in this order: see tree_check; PL003 (consumer generation); see tree_check_values; PL009, PL004 (see
allocation_resolve); PL010, PL011, PL012 (see allocation_raise_error); PL005 (a dropped inventory is in use); see
tree_delete; 23505 (resource_providers_name_key), if a name was taken concurrently; 40001, also if another request made
the same changes while this one waited.
Locks: new classes, traits, aggregates, projects, users and types; consumers; then see tree_lock. Idempotent.
Calls: tree_compare, tree_differences, tree_consumer_differences, tree_differs, tree_ensure_names, consumer_lock, tree_lock, tree_check,
consumer_check_generation, tree_check_values, tree_write, consumer_write_changes, tree_show.';

--
-- Name: tree_show(jsonb, jsonb, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_show(p_changes jsonb, p_consumers jsonb, p_usages bigint[]) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    WITH /* tree_show 1/1 */ usage AS MATERIALIZED (
        SELECT DISTINCT used.id FROM unnest(p_usages) AS used (id)
    ), found AS MATERIALIZED (
        SELECT change.*, existing.id AS id_now, existing.generation AS generation_now
        FROM tree_changes(p_changes) AS change
        LEFT JOIN LATERAL (
            SELECT provider.id, (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = provider.id) AS generation
            FROM resource_providers AS provider WHERE provider.uuid = change.provider OFFSET 0
        ) AS existing ON true
    ), shown AS (
        SELECT found.request_position AS position, found.provider, found.generation_now AS generation,
            CASE WHEN found.is_deleted THEN CASE WHEN found.provider_id IS NULL THEN 'unchanged' ELSE 'deleted' END
                WHEN found.provider_id IS NULL THEN 'created' END AS change,
            array_remove(ARRAY[
                CASE WHEN found.name_differs THEN 'name' END, CASE WHEN found.parent_differs THEN 'parent' END,
                CASE WHEN found.records IS NOT NULL THEN 'inventories' END,
                CASE WHEN found.traits IS NOT NULL THEN 'traits' END,
                CASE WHEN found.aggregates IS NOT NULL THEN 'aggregates' END,
                CASE WHEN usage.id IS NOT NULL THEN 'usages' END], NULL) AS changed
        FROM found LEFT JOIN usage ON usage.id = found.id_now
        UNION ALL
        SELECT 4294967296 + usage.id, provider.uuid, provider.generation, NULL, '{usages}'
        FROM usage
        CROSS JOIN LATERAL (
            SELECT other.uuid, (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = other.id) AS generation
            FROM resource_providers AS other WHERE other.id = usage.id OFFSET 0
        ) AS provider
        WHERE NOT EXISTS (SELECT FROM found WHERE found.id_now = usage.id)
    ), consumer AS (
        SELECT was.*, (SELECT now.generation FROM consumers AS now WHERE now.uuid = was.consumer) AS generation_now
        FROM jsonb_to_recordset(p_consumers) AS was (request_position bigint, consumer uuid, consumer_id bigint,
            differs bool)
    )
    SELECT jsonb_build_object(
        'providers', (SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('provider', shown.provider,
                'change', coalesce(shown.change, CASE WHEN shown.changed = '{}' THEN 'unchanged' ELSE 'updated' END),
                'changed', CASE WHEN shown.change IS NULL AND shown.changed <> '{}' THEN to_jsonb(shown.changed) END,
                'generation', shown.generation)) ORDER BY shown.position), '[]') FROM shown),
        'consumers', (SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('consumer', consumer.consumer,
                'change', CASE WHEN NOT consumer.differs THEN 'unchanged' WHEN consumer.consumer_id IS NULL THEN 'created'
                    WHEN consumer.generation_now IS NULL THEN 'deleted' ELSE 'updated' END,
                'consumer_generation', consumer.generation_now)) ORDER BY consumer.request_position), '[]')
            FROM consumer));
$$;

--
-- Name: FUNCTION tree_show(p_changes jsonb, p_consumers jsonb, p_usages bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_show(p_changes jsonb, p_consumers jsonb, p_usages bigint[]) IS 'Returns the result of PUT /resource_providers/{uuid}/tree: {providers, consumers}, arrays of what became of each.

A provider has provider, change (created, updated, unchanged or deleted), changed (the parts of an updated one) and
generation; a consumer has consumer, change and consumer_generation. A generation is missing for what does not exist
afterwards. p_changes, p_consumers: the differences before the writes; p_usages: the providers on which allocations
change, also those that the request does not name. Locks nothing.
Plan: keys.';

--
-- Name: tree_show_at(bigint, timestamp with time zone, uuid, boolean, boolean, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_show_at(p_index bigint, p_began timestamp with time zone, p_provider uuid, p_records boolean, p_traits boolean, p_aggregates boolean) RETURNS TABLE(uuid uuid, name text, generation bigint, parent uuid, root uuid, records json, traits text[], aggregates uuid[])
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_members uuid[] := tree_members_at(p_index, p_provider);
    v_recorded uuid[] := CASE WHEN p_records THEN v_members ELSE '{}' END;
BEGIN
    RETURN QUERY
    WITH /* tree_show_at 1/1 */ sums AS MATERIALIZED (
        SELECT held.provider, held.class, sum(held.used)::bigint AS used
        FROM history_allocations_at(p_index, v_recorded, NULL) AS held GROUP BY held.provider, held.class
    ), records_then AS MATERIALIZED (
        SELECT one.provider, json_agg(jsonb_build_object('class', one.class, 'used', coalesce(sums.used, 0)) || one.record
            ORDER BY one.class_order, one.class) AS found
        FROM history_inventories_at(p_index, v_recorded) AS one
        LEFT JOIN sums ON sums.provider = one.provider AND sums.class = one.class
        GROUP BY one.provider
    ), sets AS MATERIALIZED (
        SELECT DISTINCT ON (change.provider, change.topic) change.provider, change.topic, change.before
        FROM history_later(p_index, '{aggregate,trait}', v_members, NULL) AS change ORDER BY change.provider, change.topic, change.index
    )
    SELECT member.uuid, member.name, member.generation, member.parent, member.root, records_then.found,
        CASE WHEN p_traits THEN CASE WHEN trait_set.provider IS NULL THEN provider_trait_names(member.id) ELSE ARRAY(
            SELECT item.name FROM jsonb_array_elements_text(trait_set.before) AS item (name)
            ORDER BY (SELECT known.id FROM traits AS known WHERE known.name = item.name), item.name) END END,
        CASE WHEN p_aggregates THEN CASE WHEN aggregate_set.provider IS NULL THEN provider_aggregate_uuids(member.id) ELSE ARRAY(
            SELECT item.uuid::uuid FROM jsonb_array_elements_text(aggregate_set.before) AS item (uuid)
            ORDER BY (SELECT known.id FROM aggregates AS known WHERE known.uuid = item.uuid::uuid), item.uuid) END END
    FROM history_providers_at(p_index, p_began, v_members) AS member
    LEFT JOIN records_then ON records_then.provider = member.uuid
    LEFT JOIN sets AS trait_set ON trait_set.provider = member.uuid AND trait_set.topic = 'trait'
    LEFT JOIN sets AS aggregate_set ON aggregate_set.provider = member.uuid AND aggregate_set.topic = 'aggregate'
    ORDER BY member.id, member.uuid;
END
$$;

--
-- Name: FUNCTION tree_show_at(p_index bigint, p_began timestamp with time zone, p_provider uuid, p_records boolean, p_traits boolean, p_aggregates boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_show_at(p_index bigint, p_began timestamp with time zone, p_provider uuid, p_records boolean, p_traits boolean, p_aggregates boolean) IS 'Returns the providers of the tree in which a provider was at an event, as they were. No row: it did not exist.

p_index: the event; p_began: the time from which the record is complete; p_records, p_traits, p_aggregates: the parts. Columns are as in the
query TreeShow, without sharing providers; generation is null if the record has none up to then. What is gone comes last in each order.
Called by the query TreeShowAt. Locks: none.
Plan: tree_members_at, history_providers_at, history_inventories_at, history_allocations_at, history_later; keys of the names.';

--
-- Name: tree_write(uuid, bigint, bigint[], jsonb, bigint[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_write(p_root uuid, p_root_id bigint, p_locked bigint[], p_changes jsonb, p_consumers bigint[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_root bigint := tree_write_providers(p_root, p_root_id, p_changes);
    v_parts record;
    v_named record;
    v_allocations record;
BEGIN
    SELECT /* tree_write 1/9 */ coalesce(array_agg(part.provider_id), '{}') AS providers,
        bool_or(part.records <> '[]') AS records, bool_or(part.inventories IS NOT NULL) AS inventories,
        bool_or(part.traits IS NOT NULL OR part.aggregates IS NOT NULL) AS sets
    INTO v_parts FROM tree_parts(p_changes) AS part;
    IF v_parts.records THEN
        PERFORM /* tree_write 2/9 */ tree_write_inventories(v_root, p_changes);
    END IF;
    IF v_parts.sets THEN
        PERFORM /* tree_write 3/9 */ tree_write_sets(v_root, p_changes);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    IF EXISTS (
        SELECT /* tree_write 4/9 */ unnest(v_named.providers) EXCEPT SELECT unnest(p_locked)
        EXCEPT SELECT (SELECT made.id FROM resource_providers AS made WHERE made.uuid = change.provider)
            FROM tree_changes(p_changes) AS change WHERE change.provider_id IS NULL
    ) THEN
        RAISE EXCEPTION 'a provider of the request was created concurrently' USING ERRCODE = '40001';
    END IF;
    v_allocations := allocation_differences(p_consumers, p_owners, v_named.providers, v_named.classes, p_amounts);
    PERFORM /* tree_write 5/9 */ allocation_write_changes(v_allocations.consumers, v_allocations.providers, v_allocations.classes,
        v_allocations.amounts, v_allocations.previous);
    IF v_parts.inventories THEN
        PERFORM /* tree_write 6/9 */ tree_drop_inventories(p_changes);
    END IF;
    IF EXISTS (SELECT /* tree_write 7/9 */ FROM tree_changes(p_changes) AS change WHERE change.is_deleted AND change.provider_id IS NOT NULL) THEN
        PERFORM /* tree_write 8/9 */ tree_delete(p_changes);
    END IF;
    UPDATE /* tree_write 9/9 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (v_parts.providers || v_allocations.providers);
    RETURN v_allocations.providers;
END
$$;

--
-- Name: FUNCTION tree_write(p_root uuid, p_root_id bigint, p_locked bigint[], p_changes jsonb, p_consumers bigint[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_write(p_root uuid, p_root_id bigint, p_locked bigint[], p_changes jsonb, p_consumers bigint[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) IS 'Writes the differences of PUT /resource_providers/{uuid}/tree: providers, the union of old and new inventories, the
allocations, traits and aggregates; then drops inventories and deletes providers.

p_root_id, p_locked: what tree_lock returned; p_changes: see tree_check; p_consumers: ids; the other arrays are those of
allocation_replace. Returns the providers on which allocations change.
Raises what tree_replace lists from PL009 on, and 40001 if a provider of an allocation was created concurrently.
Locks: nothing more, except new rows.
Calls: tree_write_providers, tree_write_inventories, tree_write_sets, allocation_resolve, allocation_differences,
allocation_write_changes, tree_drop_inventories, tree_delete.';

--
-- Name: tree_write_inventories(bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_write_inventories(p_root_id bigint, p_changes jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT /* tree_write_inventories 1/1 */ INTO inventories AS existing (
        provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
    SELECT part.provider_id, coalesce((SELECT class.id FROM resource_classes AS class
            WHERE class.name = record.class), -1) AS class_id, p_root_id,
        record.total, record.reserved, record.min_unit, record.max_unit, record.step_size, record.allocation_ratio
    FROM tree_parts(p_changes) AS part
    CROSS JOIN jsonb_to_recordset(part.records) AS record (class text, total int, reserved int, min_unit int,
        max_unit int, step_size int, allocation_ratio float8)
    ORDER BY part.provider_id, class_id
    ON CONFLICT (provider_id, class_id) DO UPDATE SET
        total = excluded.total, reserved = excluded.reserved, min_unit = excluded.min_unit,
        max_unit = excluded.max_unit, step_size = excluded.step_size,
        allocation_ratio = excluded.allocation_ratio, updated_at = now();
END
$$;

--
-- Name: FUNCTION tree_write_inventories(p_root_id bigint, p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_write_inventories(p_root_id bigint, p_changes jsonb) IS 'Inserts or updates the changed inventory records of PUT /resource_providers/{uuid}/tree; updates keep used.

p_changes: see tree_check; all classes in it existed when the caller looked. A class that was deleted since violates the
foreign key (23503), and the store retries the write. One statement writes the inventories of all providers, so that
tree_class_count writes a row of tree_classes once and not for each provider. The caller has created and locked the
providers.';

--
-- Name: tree_write_providers(uuid, bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_write_providers(p_root uuid, p_root_id bigint, p_changes jsonb) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_made uuid[];
    v_ids bigint[];
    v_written bigint;
    v_root bigint;
    v_change record;
BEGIN
    SELECT /* tree_write_providers 1/6 */ array_agg(new.provider ORDER BY new.request_position),
        array_agg(nextval(pg_get_serial_sequence('resource_providers', 'id')) ORDER BY new.request_position)
    INTO v_made, v_ids
    FROM tree_changes(p_changes) AS new WHERE new.provider_id IS NULL AND NOT new.is_deleted;
    v_root := coalesce(p_root_id, v_ids[array_position(v_made, p_root)]);
    WITH /* tree_write_providers 2/6 */ made AS MATERIALIZED (
        SELECT new.id, new.uuid, change.name, change.parent
        FROM unnest(v_made, v_ids) AS new (uuid, id) JOIN tree_changes(p_changes) AS change ON change.provider = new.uuid
    )
    INSERT INTO resource_providers (id, uuid, name, parent_id, root_id) OVERRIDING SYSTEM VALUE
    SELECT made.id, made.uuid, made.name, coalesce(parent.id, (SELECT existing.id FROM resource_providers AS existing
        WHERE existing.uuid = made.parent)), v_root
    FROM made LEFT JOIN made AS parent ON parent.uuid = made.parent
    ORDER BY made.uuid ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written < cardinality(v_made) THEN
        RAISE EXCEPTION 'providers were created concurrently' USING ERRCODE = '40001';
    END IF;
    -- As in provider_create, a new root has an updated_at.
    INSERT /* tree_write_providers 3/6 */ INTO provider_generations (provider_id, updated_at)
    SELECT new.id, CASE WHEN new.id = v_root THEN now() END FROM unnest(v_ids) AS new (id);

    FOR v_change IN
        SELECT /* tree_write_providers 4/6 */ change.provider_id, change.name, (SELECT parent.id
            FROM resource_providers AS parent WHERE parent.uuid = change.parent) AS parent_id
        FROM tree_changes(p_changes) AS change
        WHERE change.provider_id IS NOT NULL AND (change.name_differs OR change.parent_differs)
        ORDER BY change.provider_id
    LOOP
        UPDATE /* tree_write_providers 5/6 */ resource_providers SET name = v_change.name, parent_id = v_change.parent_id
        WHERE id = v_change.provider_id;
        UPDATE /* tree_write_providers 6/6 */ provider_generations SET updated_at = now()
        WHERE provider_id = v_change.provider_id;
    END LOOP;
    RETURN v_root;
END
$$;

--
-- Name: FUNCTION tree_write_providers(p_root uuid, p_root_id bigint, p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_write_providers(p_root uuid, p_root_id bigint, p_changes jsonb) IS 'Creates, renames and re-parents the providers of PUT /resource_providers/{uuid}/tree. Returns the id of the root.

p_root_id null: the root is created. p_changes: see tree_check. All providers are created in one statement in the order
of their UUIDs, so that of two requests that create the same tree one waits before its first row.
Raises 40001 if a UUID or name was taken since tree_check_values, and 23505 (resource_providers_name_key) if a new
name of an existing provider was. Locks: new rows; the caller has locked the others.';

--
-- Name: tree_write_sets(bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.tree_write_sets(p_root_id bigint, p_changes jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_replaced bigint[];
    v_providers bigint[];
    v_ids int[];
BEGIN
    SELECT /* tree_write_sets 1/6 */ array_agg(part.provider_id) INTO v_replaced
    FROM tree_parts(p_changes) AS part WHERE part.traits IS NOT NULL;
    IF v_replaced IS NOT NULL THEN
        SELECT /* tree_write_sets 2/6 */ array_agg(wanted.provider_id), array_agg(wanted.id) INTO v_providers, v_ids
        FROM (
            SELECT DISTINCT part.provider_id, coalesce((SELECT trait.id FROM traits AS trait
                WHERE trait.name = item.name), -1) AS id
            FROM tree_parts(p_changes) AS part CROSS JOIN jsonb_array_elements_text(part.traits) AS item (name)
        ) AS wanted;
        -- One statement for all, so that the provider's row is written once (provider_traits_denormalize).
        WITH /* tree_write_sets 3/6 */ deleted AS (
            DELETE FROM provider_traits AS existing
            WHERE existing.provider_id = ANY (v_replaced) AND (existing.provider_id, existing.trait_id) NOT IN (
                SELECT wanted.provider_id, wanted.id FROM unnest(v_providers, v_ids) AS wanted (provider_id, id))
        )
        INSERT INTO provider_traits (provider_id, trait_id, root_id)
        SELECT wanted.provider_id, wanted.id, p_root_id FROM unnest(v_providers, v_ids) AS wanted (provider_id, id)
        ORDER BY wanted.provider_id, wanted.id ON CONFLICT DO NOTHING;
    END IF;

    SELECT /* tree_write_sets 4/6 */ array_agg(part.provider_id) INTO v_replaced
    FROM tree_parts(p_changes) AS part WHERE part.aggregates IS NOT NULL;
    IF v_replaced IS NOT NULL THEN
        SELECT /* tree_write_sets 5/6 */ array_agg(wanted.provider_id), array_agg(wanted.id) INTO v_providers, v_ids
        FROM (
            SELECT DISTINCT part.provider_id, coalesce((SELECT aggregate.id FROM aggregates AS aggregate
                WHERE aggregate.uuid = item.uuid::uuid), -1) AS id
            FROM tree_parts(p_changes) AS part CROSS JOIN jsonb_array_elements_text(part.aggregates) AS item (uuid)
        ) AS wanted;
        WITH /* tree_write_sets 6/6 */ deleted AS (
            DELETE FROM provider_aggregates AS existing
            WHERE existing.provider_id = ANY (v_replaced) AND (existing.provider_id, existing.aggregate_id) NOT IN (
                SELECT wanted.provider_id, wanted.id FROM unnest(v_providers, v_ids) AS wanted (provider_id, id))
        )
        INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id)
        SELECT wanted.provider_id, wanted.id, p_root_id FROM unnest(v_providers, v_ids) AS wanted (provider_id, id)
        ORDER BY wanted.provider_id, wanted.id ON CONFLICT DO NOTHING;
    END IF;
END
$$;

--
-- Name: FUNCTION tree_write_sets(p_root_id bigint, p_changes jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.tree_write_sets(p_root_id bigint, p_changes jsonb) IS 'Replaces the traits and aggregates of the providers of PUT /resource_providers/{uuid}/tree; null: they stay as they are.

p_changes: see tree_check; all traits and aggregates in it existed when the caller looked. A name that was deleted since
violates the foreign key (23503), and the store retries the write. The caller has created and locked the providers.';

--
-- Name: gcd_of(bigint); Type: AGGREGATE; Schema: public; Owner: -
--

CREATE AGGREGATE public.gcd_of(bigint) (
    SFUNC = pg_catalog.gcd,
    STYPE = bigint,
    INITCOND = '0'
);

--
-- Name: AGGREGATE gcd_of(bigint); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON AGGREGATE public.gcd_of(bigint) IS 'Greatest common divisor of all values; 0 for none. All of several amounts are multiples of a step if and only if their greatest common divisor is.';

--
-- Name: aggregates; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.aggregates (
    id integer NOT NULL,
    uuid uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

--
-- Name: TABLE aggregates; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.aggregates IS 'Aggregates: groups of resource providers, known by UUID only. Inserted on first use, never deleted.';

--
-- Name: COLUMN aggregates.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.aggregates.id IS 'Internal key.';

--
-- Name: COLUMN aggregates.uuid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.aggregates.uuid IS 'Key in the API.';

--
-- Name: COLUMN aggregates.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.aggregates.created_at IS 'Time of first use.';

--
-- Name: aggregates_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.aggregates ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.aggregates_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: allocations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.allocations (
    consumer_id bigint NOT NULL,
    provider_id bigint NOT NULL,
    class_id integer NOT NULL,
    id bigint NOT NULL,
    used bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT allocations_used_check CHECK ((used >= 1))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

--
-- Name: TABLE allocations; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.allocations IS 'Allocations: the amount of one resource class that a consumer holds on one provider. inventories.used holds the sums.';

--
-- Name: COLUMN allocations.consumer_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.allocations.consumer_id IS 'Consumer that holds the allocation.';

--
-- Name: COLUMN allocations.provider_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.allocations.provider_id IS 'Provider of the resource.';

--
-- Name: COLUMN allocations.class_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.allocations.class_id IS 'Resource class.';

--
-- Name: COLUMN allocations.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.allocations.id IS 'Order of insertion, which is the order in the request.';

--
-- Name: COLUMN allocations.used; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.allocations.used IS 'Amount, at least 1.';

--
-- Name: COLUMN allocations.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.allocations.created_at IS 'Time of the claim.';

--
-- Name: allocations_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.allocations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.allocations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: baremetal_backend; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.baremetal_backend (
    only_row boolean DEFAULT true NOT NULL,
    placement boolean DEFAULT false NOT NULL,
    CONSTRAINT baremetal_backend_only_row_check CHECK (only_row)
);

--
-- Name: TABLE baremetal_backend; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.baremetal_backend IS 'Whether each node is a resource provider as well, written in the same transactions. One row, the same for all servers.';

--
-- Name: COLUMN baremetal_backend.only_row; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.baremetal_backend.only_row IS 'Always true: the table has one row.';

--
-- Name: COLUMN baremetal_backend.placement; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.baremetal_backend.placement IS 'Whether nodes are resource providers.';

--
-- Name: berth_function_set; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.berth_function_set (
    number integer NOT NULL,
    hash text NOT NULL,
    applied_at timestamp with time zone NOT NULL
);

--
-- Name: TABLE berth_function_set; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.berth_function_set IS 'States of the set of SQL functions that berth db migrate has applied. The highest number is the current one.';

--
-- Name: COLUMN berth_function_set.number; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.berth_function_set.number IS 'Number of the set, as in sql/functions/VERSION.';

--
-- Name: COLUMN berth_function_set.hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.berth_function_set.hash IS 'Hash of all functions of the set.';

--
-- Name: COLUMN berth_function_set.applied_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.berth_function_set.applied_at IS 'Time at which the set was applied.';

--
-- Name: berth_migration; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.berth_migration (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);

--
-- Name: TABLE berth_migration; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.berth_migration IS 'Migrations that berth db migrate has applied.';

--
-- Name: COLUMN berth_migration.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.berth_migration.id IS 'Order of the entries.';

--
-- Name: COLUMN berth_migration.version_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.berth_migration.version_id IS 'Version of the migration: the number of its file.';

--
-- Name: COLUMN berth_migration.is_applied; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.berth_migration.is_applied IS 'Whether the entry applied the migration or reverted it.';

--
-- Name: COLUMN berth_migration.tstamp; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.berth_migration.tstamp IS 'Time of the entry.';

--
-- Name: berth_migration_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.berth_migration ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.berth_migration_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: conductors; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.conductors (
    id integer NOT NULL,
    hostname text NOT NULL COLLATE pg_catalog."C",
    conductor_group text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    drivers text[] NOT NULL,
    online boolean DEFAULT true NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (fillfactor='50');

--
-- Name: TABLE conductors; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.conductors IS 'Conductors: workers that process node allocations and drive nodes. If one is offline, or its heartbeat is older than the timeout, other conductors take over its work. With fillfactor 50 heartbeats are HOT updates.';

--
-- Name: COLUMN conductors.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.conductors.id IS 'Internal key.';

--
-- Name: COLUMN conductors.hostname; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.conductors.hostname IS 'Name of the conductor, unique among all.';

--
-- Name: COLUMN conductors.conductor_group; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.conductors.conductor_group IS 'Group of nodes that the conductor serves.';

--
-- Name: COLUMN conductors.drivers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.conductors.drivers IS 'Names of the drivers that the conductor has.';

--
-- Name: COLUMN conductors.online; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.conductors.online IS 'False after the conductor has unregistered.';

--
-- Name: COLUMN conductors.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.conductors.created_at IS 'Time of the first registration.';

--
-- Name: COLUMN conductors.updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.conductors.updated_at IS 'Time of the last heartbeat.';

--
-- Name: conductors_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.conductors ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.conductors_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: consumer_types; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.consumer_types (
    id integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

--
-- Name: TABLE consumer_types; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.consumer_types IS 'Types of consumers, such as INSTANCE and MIGRATION. Inserted on first use, never deleted.';

--
-- Name: COLUMN consumer_types.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumer_types.id IS 'Internal key.';

--
-- Name: COLUMN consumer_types.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumer_types.name IS 'Name in the API.';

--
-- Name: COLUMN consumer_types.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consumer_types.created_at IS 'Time of first use.';

--
-- Name: consumer_types_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.consumer_types ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.consumer_types_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: consumers_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.consumers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.consumers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: explanation_requests; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.explanation_requests (
    request_id uuid NOT NULL,
    global_request_id uuid,
    explanation_id bigint NOT NULL,
    asked_at timestamp with time zone NOT NULL
);

--
-- Name: TABLE explanation_requests; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.explanation_requests IS 'The requests with an empty result. A row without its explanation is ignored. Unlogged, like explanations.';

--
-- Name: COLUMN explanation_requests.request_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanation_requests.request_id IS 'Id of the request, without its "req-".';

--
-- Name: COLUMN explanation_requests.global_request_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanation_requests.global_request_id IS 'Id that the client sent for a chain of requests, likewise; null without one.';

--
-- Name: COLUMN explanation_requests.explanation_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanation_requests.explanation_id IS 'Row of explanations.';

--
-- Name: COLUMN explanation_requests.asked_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanation_requests.asked_at IS 'Time of the request.';

--
-- Name: explanations; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.explanations (
    id bigint NOT NULL,
    digest bytea NOT NULL,
    window_start timestamp with time zone NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    api text NOT NULL COLLATE pg_catalog."C",
    microversion text NOT NULL COLLATE pg_catalog."C",
    berth text COLLATE pg_catalog."C",
    question text NOT NULL,
    options jsonb NOT NULL,
    reason text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    first_asked_at timestamp with time zone NOT NULL,
    last_asked_at timestamp with time zone NOT NULL,
    content jsonb,
    made_at timestamp with time zone
);

--
-- Name: TABLE explanations; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.explanations IS 'Empty results that clients received, and explanations of them: a row for equal queries in five minutes. Unlogged: no WAL, and nothing on standbys; empty after a crash and after a failover. Nothing depends on it.';

--
-- Name: COLUMN explanations.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.id IS 'Internal key.';

--
-- Name: COLUMN explanations.digest; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.digest IS 'SHA-256 of kind, api, microversion, berth, question and options.';

--
-- Name: COLUMN explanations.window_start; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.window_start IS 'Start of the five minutes, a multiple of five minutes.';

--
-- Name: COLUMN explanations.kind; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.kind IS 'Kind of the explanation: candidates or claim.';

--
-- Name: COLUMN explanations.api; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.api IS 'API of the requests: placement.';

--
-- Name: COLUMN explanations.microversion; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.microversion IS 'Microversion of the requests.';

--
-- Name: COLUMN explanations.berth; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.berth IS 'Version of the extensions; null without one.';

--
-- Name: COLUMN explanations.question; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.question IS 'Query string of the requests; of a claim its JSON.';

--
-- Name: COLUMN explanations.options; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.options IS 'Settings of the server that took part in the search.';

--
-- Name: COLUMN explanations.reason; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.reason IS 'Reason that the search reported, the label of the metric.';

--
-- Name: COLUMN explanations.requests; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.requests IS 'Number of recorded requests.';

--
-- Name: COLUMN explanations.first_asked_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.first_asked_at IS 'Time of the first of them.';

--
-- Name: COLUMN explanations.last_asked_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.last_asked_at IS 'Time of the last of them.';

--
-- Name: COLUMN explanations.content; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.content IS 'The explanation; null until it is computed.';

--
-- Name: COLUMN explanations.made_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.explanations.made_at IS 'Time at which the explanation was computed; null until then.';

--
-- Name: explanations_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.explanations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.explanations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: history; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.history (
    day date NOT NULL,
    index bigint NOT NULL,
    place integer NOT NULL,
    at timestamp with time zone NOT NULL,
    topic text NOT NULL COLLATE pg_catalog."C",
    provider uuid,
    root uuid,
    consumer uuid,
    node uuid,
    class text COLLATE pg_catalog."C",
    generation bigint,
    name text COLLATE pg_catalog."C",
    previous_name text COLLATE pg_catalog."C",
    project text COLLATE pg_catalog."C",
    previous_project text COLLATE pg_catalog."C",
    request_id text COLLATE pg_catalog."C",
    global_request_id text COLLATE pg_catalog."C",
    caller jsonb,
    before jsonb,
    after jsonb
)
PARTITION BY RANGE (day);

--
-- Name: TABLE history; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.history IS 'The record: what each write changed, a row for each object. A partition is a day.';

--
-- Name: COLUMN history.day; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.day IS 'Day on which the write was put in order, in UTC.';

--
-- Name: COLUMN history.index; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.index IS 'Number of the write, from 1, without gaps.';

--
-- Name: COLUMN history.place; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.place IS 'Number of the change in its write, from 1.';

--
-- Name: COLUMN history.at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.at IS 'Time of the last note of the write.';

--
-- Name: COLUMN history.topic; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.topic IS 'Kind of object.';

--
-- Name: COLUMN history.provider; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.provider IS 'Provider that has changed, or that the allocation is on.';

--
-- Name: COLUMN history.root; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.root IS 'Root of the tree of the provider.';

--
-- Name: COLUMN history.consumer; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.consumer IS 'Consumer.';

--
-- Name: COLUMN history.node; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.node IS 'Node or node allocation.';

--
-- Name: COLUMN history.class; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.class IS 'Resource class or trait.';

--
-- Name: COLUMN history.generation; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.generation IS 'Provider generation after the write; null: the write did not raise it.';

--
-- Name: COLUMN history.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.name IS 'Name that the provider or node has.';

--
-- Name: COLUMN history.previous_name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.previous_name IS 'Name that it had, if it is another.';

--
-- Name: COLUMN history.project; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.project IS 'Project of the consumer.';

--
-- Name: COLUMN history.previous_project; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.previous_project IS 'Project that it had, if it is another.';

--
-- Name: COLUMN history.request_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.request_id IS 'Request of the write.';

--
-- Name: COLUMN history.global_request_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.global_request_id IS 'Request for which that one was sent.';

--
-- Name: COLUMN history.caller; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.caller IS 'Who asked; null: unknown.';

--
-- Name: COLUMN history.before; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.before IS 'The object before the write; null: it did not exist.';

--
-- Name: COLUMN history.after; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history.after IS 'The object after the write; null: it does not exist.';

--
-- Name: history_days; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.history_days (
    day date NOT NULL,
    first bigint NOT NULL,
    began_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

--
-- Name: TABLE history_days; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.history_days IS 'Days of the record: partitions of history.';

--
-- Name: COLUMN history_days.day; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_days.day IS 'Day, in UTC.';

--
-- Name: COLUMN history_days.first; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_days.first IS 'First index that can be on this day.';

--
-- Name: COLUMN history_days.began_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_days.began_at IS 'Time of the first step of the day.';

--
-- Name: history_marks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.history_marks (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    earliest timestamp with time zone NOT NULL
);

--
-- Name: TABLE history_marks; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.history_marks IS 'Times of indexes: a row for each minute or 5,000 events, in which something was recorded.';

--
-- Name: COLUMN history_marks.first; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_marks.first IS 'First index of the step that wrote the row.';

--
-- Name: COLUMN history_marks.at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_marks.at IS 'Beginning of that step: lower indexes have earlier times.';

--
-- Name: COLUMN history_marks.earliest; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.history_marks.earliest IS 'Earliest time of the events from first to the next mark.';

--
-- Name: idempotency_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.idempotency_keys (
    caller text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    fingerprint bytea NOT NULL,
    request text NOT NULL,
    status integer,
    answer jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');

--
-- Name: TABLE idempotency_keys; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.idempotency_keys IS 'Writes that a client sent with an Idempotency-Key, and their responses.';

--
-- Name: COLUMN idempotency_keys.caller; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.caller IS 'Authentication method or issuer, user and project, separated by line feeds.';

--
-- Name: COLUMN idempotency_keys.key; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.key IS 'Header Idempotency-Key.';

--
-- Name: COLUMN idempotency_keys.fingerprint; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.fingerprint IS 'SHA-256 of the request.';

--
-- Name: COLUMN idempotency_keys.request; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.request IS 'Method and path, for the error of another request with the same key.';

--
-- Name: COLUMN idempotency_keys.status; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.status IS 'Status of the response; null while the write runs, which no other transaction sees.';

--
-- Name: COLUMN idempotency_keys.answer; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.answer IS 'Body of the response; null for a response without a body.';

--
-- Name: COLUMN idempotency_keys.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.created_at IS 'Time of the first request.';

--
-- Name: COLUMN idempotency_keys.expires_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.expires_at IS 'Time from which the key is unknown and may be deleted.';

--
-- Name: import_anomalies; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.import_anomalies (
    id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    source_row jsonb NOT NULL
);

--
-- Name: TABLE import_anomalies; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.import_anomalies IS 'Anomalies that the last import found in its source. Kept until the next import.';

--
-- Name: COLUMN import_anomalies.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_anomalies.id IS 'Order in which they were found.';

--
-- Name: COLUMN import_anomalies.kind; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_anomalies.kind IS 'Kind of the anomaly, as in the report.';

--
-- Name: COLUMN import_anomalies.source_row; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_anomalies.source_row IS 'Row of the source, or what several rows have in common.';

--
-- Name: import_anomalies_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.import_anomalies ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.import_anomalies_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: import_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.import_state (
    only_row boolean DEFAULT true NOT NULL,
    source text NOT NULL,
    fingerprint text NOT NULL,
    began_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    digests jsonb DEFAULT '{}'::jsonb NOT NULL,
    traits text[] DEFAULT '{}'::text[] NOT NULL,
    resource_classes text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT import_state_only_row_check CHECK (only_row)
);

--
-- Name: TABLE import_state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.import_state IS 'The import of an OpenStack Placement database: one row, or none if there was no import.';

--
-- Name: COLUMN import_state.only_row; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_state.only_row IS 'Always true: the table has at most one row.';

--
-- Name: COLUMN import_state.source; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_state.source IS 'Address of the source, without its password.';

--
-- Name: COLUMN import_state.fingerprint; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_state.fingerprint IS 'Hash of the whole source, so that a later run detects changes.';

--
-- Name: COLUMN import_state.began_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_state.began_at IS 'Start of the import; also the time of rows that had none.';

--
-- Name: COLUMN import_state.finished_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_state.finished_at IS 'End of the import; null if it has not ended.';

--
-- Name: COLUMN import_state.digests; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_state.digests IS 'Hashes of what the import wrote, by table. The import can be repeated as long as they match.';

--
-- Name: COLUMN import_state.traits; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_state.traits IS 'Traits that the import added; a repeated import deletes them.';

--
-- Name: COLUMN import_state.resource_classes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.import_state.resource_classes IS 'Resource classes that the import added, likewise.';

--
-- Name: name_changes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.name_changes (
    only_row boolean DEFAULT true NOT NULL,
    changes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT name_changes_only_row_check CHECK (only_row)
);

--
-- Name: TABLE name_changes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.name_changes IS 'Name changes: one row with the number of statements that renamed or deleted traits or resource classes. As long as it stays the same, the ids that a server remembers by name are those of the names.';

--
-- Name: COLUMN name_changes.only_row; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.name_changes.only_row IS 'There is one row.';

--
-- Name: COLUMN name_changes.changes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.name_changes.changes IS 'Number of statements, maintained by triggers.';

--
-- Name: node_allocations_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.node_allocations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.node_allocations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: node_traits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.node_traits (
    node_id bigint NOT NULL,
    trait text NOT NULL COLLATE pg_catalog."C"
);

--
-- Name: TABLE node_traits; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.node_traits IS 'Traits of nodes by name, standard or custom; at most 50 per node.';

--
-- Name: COLUMN node_traits.node_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_traits.node_id IS 'Node that has the trait.';

--
-- Name: COLUMN node_traits.trait; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.node_traits.trait IS 'Name of the trait.';

--
-- Name: nodes_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.nodes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.nodes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: outbox; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.outbox (
    seq bigint NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    topic text NOT NULL COLLATE pg_catalog."C",
    provider_id bigint,
    consumer_id bigint,
    node_id bigint,
    provider uuid,
    consumer uuid,
    node uuid,
    class text COLLATE pg_catalog."C",
    generation bigint,
    caller jsonb DEFAULT (NULLIF(current_setting('berth.caller'::text, true), ''::text))::jsonb,
    before jsonb,
    after jsonb,
    providers uuid[],
    classes text[] COLLATE pg_catalog."C",
    amounts bigint[],
    generations bigint[]
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000');

--
-- Name: TABLE outbox; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.outbox IS 'Notes of committed writes that history_step has not yet put in order. The number of a note is drawn from a sequence without a cache, and the last one of a transaction when it holds all its locks: the order of the events depends on both.';

--
-- Name: COLUMN outbox.seq; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.seq IS 'Number of the note.';

--
-- Name: COLUMN outbox.xid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.xid IS 'Transaction that wrote it.';

--
-- Name: COLUMN outbox.at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.at IS 'Time of the note.';

--
-- Name: COLUMN outbox.topic; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.topic IS 'Kind of object; claim: a new consumer with all its allocations.';

--
-- Name: COLUMN outbox.provider_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.provider_id IS 'Provider by id: its row can be gone at the commit.';

--
-- Name: COLUMN outbox.consumer_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.consumer_id IS 'Consumer by id, likewise.';

--
-- Name: COLUMN outbox.node_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.node_id IS 'Node by id, likewise.';

--
-- Name: COLUMN outbox.provider; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.provider IS 'Provider; null if its row was gone.';

--
-- Name: COLUMN outbox.consumer; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.consumer IS 'Consumer; null if its row was gone.';

--
-- Name: COLUMN outbox.node; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.node IS 'Node or node allocation; null if its row was gone.';

--
-- Name: COLUMN outbox.class; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.class IS 'Resource class or trait.';

--
-- Name: COLUMN outbox.generation; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.generation IS 'Provider generation after the write.';

--
-- Name: COLUMN outbox.caller; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.caller IS 'Who asked; null: unknown.';

--
-- Name: COLUMN outbox.before; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.before IS 'The object before the write; null: it did not exist.';

--
-- Name: COLUMN outbox.after; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.after IS 'The object after the write; null: it does not exist.';

--
-- Name: COLUMN outbox.providers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.providers IS 'Of a claim: the provider of each allocation, or the only one.';

--
-- Name: COLUMN outbox.classes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.classes IS 'Of a claim: the class of each allocation.';

--
-- Name: COLUMN outbox.amounts; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.amounts IS 'Of a claim: the amount of each allocation.';

--
-- Name: COLUMN outbox.generations; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.outbox.generations IS 'Of a claim: the generation of each of providers after the write.';

--
-- Name: outbox_seq_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.outbox ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: ports_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.ports ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.ports_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: projects; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.projects (
    id bigint NOT NULL,
    external_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

--
-- Name: TABLE projects; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.projects IS 'Projects (Keystone) that own consumers. Inserted on first use, never deleted.';

--
-- Name: COLUMN projects.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.projects.id IS 'Internal key.';

--
-- Name: COLUMN projects.external_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.projects.external_id IS 'Id of the project in the API.';

--
-- Name: COLUMN projects.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.projects.created_at IS 'Time of first use.';

--
-- Name: projects_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.projects ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: provider_aggregates; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.provider_aggregates (
    provider_id bigint NOT NULL,
    aggregate_id integer NOT NULL,
    sharing boolean DEFAULT false NOT NULL,
    root_id bigint NOT NULL
);

--
-- Name: TABLE provider_aggregates; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.provider_aggregates IS 'Aggregates of providers.';

--
-- Name: COLUMN provider_aggregates.provider_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_aggregates.provider_id IS 'Provider in the aggregate.';

--
-- Name: COLUMN provider_aggregates.aggregate_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_aggregates.aggregate_id IS 'Aggregate.';

--
-- Name: COLUMN provider_aggregates.sharing; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_aggregates.sharing IS 'Whether the provider has the trait MISC_SHARES_VIA_AGGREGATE; maintained by triggers on provider_traits and provider_aggregates.';

--
-- Name: COLUMN provider_aggregates.root_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_aggregates.root_id IS 'Copy of the provider''s root_id, as that of provider_traits.';

--
-- Name: provider_generations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.provider_generations (
    provider_id bigint NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02');

--
-- Name: TABLE provider_generations; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.provider_generations IS 'Generation of each provider: one narrow row per provider. Its row lock is the lock of the provider: a transaction that writes inventories, allocations, traits or aggregates of the provider holds it. Each of these writes updates the row; with fillfactor 50 the updates are HOT.';

--
-- Name: COLUMN provider_generations.provider_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_generations.provider_id IS 'Provider.';

--
-- Name: COLUMN provider_generations.generation; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_generations.generation IS 'Provider generation; a write with a stale value yields 409.';

--
-- Name: COLUMN provider_generations.updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_generations.updated_at IS 'Time of the last write to the provider; null for a child that was only created.';

--
-- Name: provider_traits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.provider_traits (
    provider_id bigint NOT NULL,
    trait_id integer NOT NULL,
    root_id bigint NOT NULL
);

--
-- Name: TABLE provider_traits; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.provider_traits IS 'Traits of providers.';

--
-- Name: COLUMN provider_traits.provider_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_traits.provider_id IS 'Provider that has the trait.';

--
-- Name: COLUMN provider_traits.trait_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_traits.trait_id IS 'Trait.';

--
-- Name: COLUMN provider_traits.root_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.provider_traits.root_id IS 'Copy of the provider''s root_id: the trees that have a trait are in one index range. A transaction that changes or copies it holds the row lock of the provider.';

--
-- Name: resource_classes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.resource_classes (
    id integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone
);

--
-- Name: TABLE resource_classes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.resource_classes IS 'Resource classes: types of resource with an inventory, such as VCPU, MEMORY_MB, CUSTOM_GOLD.';

--
-- Name: COLUMN resource_classes.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_classes.id IS 'Standard classes have fixed ids below 10000 (their position in the standard list). Custom classes take theirs from the sequence. It never goes back, because servers cache ids.';

--
-- Name: COLUMN resource_classes.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_classes.name IS 'Name in the API. Custom names begin with CUSTOM_.';

--
-- Name: COLUMN resource_classes.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_classes.created_at IS 'Time of creation.';

--
-- Name: COLUMN resource_classes.updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_classes.updated_at IS 'Time of the last rename; null before the first.';

--
-- Name: resource_classes_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.resource_classes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.resource_classes_id_seq
    START WITH 10000
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: resource_providers_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.resource_providers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.resource_providers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: timelines; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.timelines (
    timeline text NOT NULL COLLATE pg_catalog."C",
    recorded_at timestamp with time zone DEFAULT now() NOT NULL
);

--
-- Name: TABLE timelines; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.timelines IS 'Timelines on which a primary has served requests that replicas could read for. WAL positions are comparable only within one timeline: a replica without the row of the primary''s timeline has not followed it.';

--
-- Name: COLUMN timelines.timeline; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.timelines.timeline IS 'Eight hexadecimal digits, as in the name of a WAL file.';

--
-- Name: COLUMN timelines.recorded_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.timelines.recorded_at IS 'Time at which a server recorded the timeline.';

--
-- Name: traits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.traits (
    id integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone
);

--
-- Name: TABLE traits; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.traits IS 'Traits: capabilities of resource providers, without a quantity. The names of custom traits begin with CUSTOM_.';

--
-- Name: COLUMN traits.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.traits.id IS 'Internal key.';

--
-- Name: COLUMN traits.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.traits.name IS 'Name in the API.';

--
-- Name: COLUMN traits.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.traits.created_at IS 'Time of creation.';

--
-- Name: COLUMN traits.updated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.traits.updated_at IS 'Time of the last change; null before the first.';

--
-- Name: traits_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.traits ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.traits_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: tree_classes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tree_classes (
    root_id bigint NOT NULL,
    class_id integer NOT NULL,
    providers integer NOT NULL
);

--
-- Name: TABLE tree_classes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.tree_classes IS 'Trees by class: how many providers of a tree have an inventory of a class, whatever its free capacity. If a request needs eight different providers of a class, other trees than those with at least eight need not be searched. Maintained by triggers on inventories and by provider_reparent, under the row lock of the root; claims do not change it. It has no foreign keys: the triggers delete the rows of a deleted root only after the root.';

--
-- Name: COLUMN tree_classes.root_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.tree_classes.root_id IS 'Root of the tree.';

--
-- Name: COLUMN tree_classes.class_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.tree_classes.class_id IS 'Resource class.';

--
-- Name: COLUMN tree_classes.providers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.tree_classes.providers IS 'Number of providers with an inventory of the class, at least 1.';

--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    id bigint NOT NULL,
    external_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

--
-- Name: TABLE users; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.users IS 'Users (Keystone) that own consumers. Inserted on first use, never deleted.';

--
-- Name: COLUMN users.id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.id IS 'Internal key.';

--
-- Name: COLUMN users.external_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.external_id IS 'Id of the user in the API.';

--
-- Name: COLUMN users.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.created_at IS 'Time of first use.';

--
-- Name: users_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.users ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: aggregates aggregates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.aggregates
    ADD CONSTRAINT aggregates_pkey PRIMARY KEY (id);

--
-- Name: aggregates aggregates_uuid_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.aggregates
    ADD CONSTRAINT aggregates_uuid_key UNIQUE (uuid);

--
-- Name: allocations allocations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.allocations
    ADD CONSTRAINT allocations_pkey PRIMARY KEY (consumer_id, provider_id, class_id);

--
-- Name: baremetal_backend baremetal_backend_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.baremetal_backend
    ADD CONSTRAINT baremetal_backend_pkey PRIMARY KEY (only_row);

--
-- Name: berth_function_set berth_function_set_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.berth_function_set
    ADD CONSTRAINT berth_function_set_pkey PRIMARY KEY (number);

--
-- Name: berth_migration berth_migration_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.berth_migration
    ADD CONSTRAINT berth_migration_pkey PRIMARY KEY (id);

--
-- Name: conductors conductors_hostname_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.conductors
    ADD CONSTRAINT conductors_hostname_key UNIQUE (hostname);

--
-- Name: conductors conductors_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.conductors
    ADD CONSTRAINT conductors_pkey PRIMARY KEY (id);

--
-- Name: consumer_types consumer_types_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.consumer_types
    ADD CONSTRAINT consumer_types_name_key UNIQUE (name);

--
-- Name: consumer_types consumer_types_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.consumer_types
    ADD CONSTRAINT consumer_types_pkey PRIMARY KEY (id);

--
-- Name: consumers consumers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.consumers
    ADD CONSTRAINT consumers_pkey PRIMARY KEY (id);

--
-- Name: consumers consumers_uuid_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.consumers
    ADD CONSTRAINT consumers_uuid_key UNIQUE (uuid);

--
-- Name: explanation_requests explanation_requests_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.explanation_requests
    ADD CONSTRAINT explanation_requests_pkey PRIMARY KEY (request_id);

--
-- Name: explanations explanations_digest_window_start_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.explanations
    ADD CONSTRAINT explanations_digest_window_start_key UNIQUE (digest, window_start);

--
-- Name: explanations explanations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.explanations
    ADD CONSTRAINT explanations_pkey PRIMARY KEY (id);

--
-- Name: history_days history_days_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.history_days
    ADD CONSTRAINT history_days_pkey PRIMARY KEY (day);

--
-- Name: history_marks history_marks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.history_marks
    ADD CONSTRAINT history_marks_pkey PRIMARY KEY (first);

--
-- Name: history_state history_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.history_state
    ADD CONSTRAINT history_state_pkey PRIMARY KEY (only_row);

--
-- Name: idempotency_keys idempotency_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (caller, key);

--
-- Name: import_anomalies import_anomalies_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.import_anomalies
    ADD CONSTRAINT import_anomalies_pkey PRIMARY KEY (id);

--
-- Name: import_state import_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.import_state
    ADD CONSTRAINT import_state_pkey PRIMARY KEY (only_row);

--
-- Name: inventories inventories_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.inventories
    ADD CONSTRAINT inventories_pkey PRIMARY KEY (provider_id, class_id);

--
-- Name: leases leases_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (consumer_id);

--
-- Name: name_changes name_changes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.name_changes
    ADD CONSTRAINT name_changes_pkey PRIMARY KEY (only_row);

--
-- Name: node_allocations node_allocations_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_allocations
    ADD CONSTRAINT node_allocations_name_key UNIQUE (name);

--
-- Name: node_allocations node_allocations_node_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_allocations
    ADD CONSTRAINT node_allocations_node_id_key UNIQUE (node_id);

--
-- Name: node_allocations node_allocations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_allocations
    ADD CONSTRAINT node_allocations_pkey PRIMARY KEY (id);

--
-- Name: node_allocations node_allocations_uuid_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_allocations
    ADD CONSTRAINT node_allocations_uuid_key UNIQUE (uuid);

--
-- Name: node_traits node_traits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_traits
    ADD CONSTRAINT node_traits_pkey PRIMARY KEY (node_id, trait);

--
-- Name: nodes nodes_instance_uuid_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_instance_uuid_key UNIQUE (instance_uuid);

--
-- Name: nodes nodes_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_name_key UNIQUE (name);

--
-- Name: nodes nodes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);

--
-- Name: nodes nodes_uuid_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_uuid_key UNIQUE (uuid);

--
-- Name: outbox outbox_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (seq);

--
-- Name: ports ports_address_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ports
    ADD CONSTRAINT ports_address_key UNIQUE (address);

--
-- Name: ports ports_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ports
    ADD CONSTRAINT ports_pkey PRIMARY KEY (id);

--
-- Name: ports ports_uuid_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ports
    ADD CONSTRAINT ports_uuid_key UNIQUE (uuid);

--
-- Name: projects projects_external_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_external_id_key UNIQUE (external_id);

--
-- Name: projects projects_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);

--
-- Name: provider_aggregates provider_aggregates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provider_aggregates
    ADD CONSTRAINT provider_aggregates_pkey PRIMARY KEY (provider_id, aggregate_id);

--
-- Name: provider_generations provider_generations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provider_generations
    ADD CONSTRAINT provider_generations_pkey PRIMARY KEY (provider_id);

--
-- Name: provider_traits provider_traits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provider_traits
    ADD CONSTRAINT provider_traits_pkey PRIMARY KEY (provider_id, trait_id);

--
-- Name: resource_classes resource_classes_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_classes
    ADD CONSTRAINT resource_classes_name_key UNIQUE (name);

--
-- Name: resource_classes resource_classes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_classes
    ADD CONSTRAINT resource_classes_pkey PRIMARY KEY (id);

--
-- Name: resource_providers resource_providers_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_providers
    ADD CONSTRAINT resource_providers_name_key UNIQUE (name);

--
-- Name: resource_providers resource_providers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_providers
    ADD CONSTRAINT resource_providers_pkey PRIMARY KEY (id);

--
-- Name: resource_providers resource_providers_uuid_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_providers
    ADD CONSTRAINT resource_providers_uuid_key UNIQUE (uuid);

--
-- Name: timelines timelines_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.timelines
    ADD CONSTRAINT timelines_pkey PRIMARY KEY (timeline);

--
-- Name: traits traits_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.traits
    ADD CONSTRAINT traits_name_key UNIQUE (name);

--
-- Name: traits traits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.traits
    ADD CONSTRAINT traits_pkey PRIMARY KEY (id);

--
-- Name: tree_classes tree_classes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tree_classes
    ADD CONSTRAINT tree_classes_pkey PRIMARY KEY (root_id, class_id);

--
-- Name: users users_external_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_external_id_key UNIQUE (external_id);

--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

--
-- Name: allocations_provider_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX allocations_provider_id_idx ON public.allocations USING btree (provider_id, class_id);

--
-- Name: INDEX allocations_provider_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.allocations_provider_id_idx IS 'Allocations of a provider; also serves the foreign key to inventories.';

--
-- Name: consumers_project_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX consumers_project_id_idx ON public.consumers USING btree (project_id, user_id);

--
-- Name: INDEX consumers_project_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.consumers_project_id_idx IS 'Consumers of a project, and of a user in it.';

--
-- Name: explanation_requests_asked_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX explanation_requests_asked_at_idx ON public.explanation_requests USING btree (asked_at);

--
-- Name: INDEX explanation_requests_asked_at_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.explanation_requests_asked_at_idx IS 'The oldest rows, which are deleted first.';

--
-- Name: explanation_requests_global_request_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX explanation_requests_global_request_id_idx ON public.explanation_requests USING btree (global_request_id) WHERE (global_request_id IS NOT NULL);

--
-- Name: INDEX explanation_requests_global_request_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.explanation_requests_global_request_id_idx IS 'The requests with a global request id.';

--
-- Name: explanations_last_asked_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX explanations_last_asked_at_idx ON public.explanations USING btree (last_asked_at);

--
-- Name: INDEX explanations_last_asked_at_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.explanations_last_asked_at_idx IS 'The oldest rows, which are deleted first.';

--
-- Name: history_consumer_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_consumer_idx ON ONLY public.history USING btree (consumer, index) WHERE (consumer IS NOT NULL);

--
-- Name: INDEX history_consumer_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_consumer_idx IS 'Changes of a consumer.';

--
-- Name: history_global_request_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_global_request_id_idx ON ONLY public.history USING btree (global_request_id) WHERE (global_request_id IS NOT NULL);

--
-- Name: history_index_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX history_index_idx ON ONLY public.history USING btree (day, index, place);

--
-- Name: INDEX history_index_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_index_idx IS 'The changes of an event.';

--
-- Name: history_left_root_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_left_root_idx ON ONLY public.history USING btree (((before ->> 'root'::text)), index) WHERE ((topic = 'provider'::text) AND ((before ->> 'root'::text) IS DISTINCT FROM (after ->> 'root'::text)));

--
-- Name: INDEX history_left_root_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_left_root_idx IS 'Providers that have left a tree.';

--
-- Name: history_marks_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_marks_at_idx ON public.history_marks USING btree (at);

--
-- Name: INDEX history_marks_at_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_marks_at_idx IS 'Index for a time.';

--
-- Name: history_name_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_name_idx ON ONLY public.history USING btree (name) WHERE (name IS NOT NULL);

--
-- Name: INDEX history_name_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_name_idx IS 'Changes by name.';

--
-- Name: history_node_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_node_idx ON ONLY public.history USING btree (node, index) WHERE (node IS NOT NULL);

--
-- Name: INDEX history_node_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_node_idx IS 'Changes of a node.';

--
-- Name: history_previous_name_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_previous_name_idx ON ONLY public.history USING btree (previous_name) WHERE (previous_name IS NOT NULL);

--
-- Name: INDEX history_previous_name_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_previous_name_idx IS 'Changes by the name before.';

--
-- Name: history_provider_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_provider_idx ON ONLY public.history USING btree (provider, index) WHERE (provider IS NOT NULL);

--
-- Name: INDEX history_provider_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_provider_idx IS 'Changes of a provider, and of consumers on it.';

--
-- Name: history_provider_topic_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_provider_topic_idx ON ONLY public.history USING btree (provider, topic, index) WHERE (topic = ANY (ARRAY['aggregate'::text, 'inventory'::text, 'provider'::text, 'trait'::text]));

--
-- Name: INDEX history_provider_topic_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_provider_topic_idx IS 'Changes of a provider itself: claims are most rows of a provider.';

--
-- Name: history_renamed_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_renamed_idx ON ONLY public.history USING btree (index) WHERE ((topic = 'class_name'::text) AND ((before ->> 'name'::text) IS NOT NULL));

--
-- Name: INDEX history_renamed_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_renamed_idx IS 'Renamed resource classes.';

--
-- Name: history_request_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_request_id_idx ON ONLY public.history USING btree (request_id) WHERE (request_id IS NOT NULL);

--
-- Name: INDEX history_request_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_request_id_idx IS 'Changes by request.';

--
-- Name: history_root_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX history_root_idx ON ONLY public.history USING btree (root, index) WHERE (root IS NOT NULL);

--
-- Name: INDEX history_root_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.history_root_idx IS 'Changes of a tree.';

--
-- Name: idempotency_keys_expires_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idempotency_keys_expires_at_idx ON public.idempotency_keys USING btree (expires_at);

--
-- Name: INDEX idempotency_keys_expires_at_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.idempotency_keys_expires_at_idx IS 'The expired keys, which are deleted.';

--
-- Name: import_anomalies_kind_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX import_anomalies_kind_idx ON public.import_anomalies USING btree (kind, id);

--
-- Name: INDEX import_anomalies_kind_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.import_anomalies_kind_idx IS 'Anomalies of a kind, in order.';

--
-- Name: inventories_class_id_free_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX inventories_class_id_free_idx ON public.inventories USING btree (class_id, free, provider_id);

--
-- Name: INDEX inventories_class_id_free_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.inventories_class_id_free_idx IS 'Inventories of a class with at least so much free capacity. With provider_id as the last column a search through all of them continues where it stopped.';

--
-- Name: leases_due_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX leases_due_idx ON public.leases USING btree (due);

--
-- Name: INDEX leases_due_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.leases_due_idx IS 'The leases that a server looks at next.';

--
-- Name: node_allocations_allocating_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX node_allocations_allocating_idx ON public.node_allocations USING btree (conductor_id, id) WHERE (state = 'allocating'::text);

--
-- Name: INDEX node_allocations_allocating_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.node_allocations_allocating_idx IS 'Pending node allocations of a conductor.';

--
-- Name: node_traits_trait_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX node_traits_trait_idx ON public.node_traits USING btree (trait, node_id);

--
-- Name: INDEX node_traits_trait_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.node_traits_trait_idx IS 'Nodes that have a trait.';

--
-- Name: nodes_conductor_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX nodes_conductor_id_idx ON public.nodes USING btree (conductor_id) WHERE (conductor_id IS NOT NULL);

--
-- Name: INDEX nodes_conductor_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.nodes_conductor_id_idx IS 'Nodes that a conductor works on.';

--
-- Name: nodes_free_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX nodes_free_idx ON public.nodes USING btree (resource_class, id) WHERE ((provision_state = 'available'::text) AND (instance_uuid IS NULL) AND (NOT maintenance));

--
-- Name: INDEX nodes_free_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.nodes_free_idx IS 'Nodes of a class that can be assigned, if their power state is known. That is not in the condition, so that the index also serves lists of such nodes. With id as the last column a conductor can begin anywhere.';

--
-- Name: nodes_work_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX nodes_work_idx ON public.nodes USING btree (id) WHERE ((conductor_id IS NULL) AND ((target_provision_state IS NOT NULL) OR (target_power_state IS NOT NULL)));

--
-- Name: INDEX nodes_work_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.nodes_work_idx IS 'Nodes with pending work and without a conductor.';

--
-- Name: ports_node_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ports_node_id_idx ON public.ports USING btree (node_id);

--
-- Name: INDEX ports_node_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.ports_node_id_idx IS 'Ports of a node.';

--
-- Name: provider_aggregates_aggregate_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX provider_aggregates_aggregate_id_idx ON public.provider_aggregates USING btree (aggregate_id, root_id, provider_id);

--
-- Name: INDEX provider_aggregates_aggregate_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.provider_aggregates_aggregate_id_idx IS 'Providers in an aggregate, tree by tree.';

--
-- Name: provider_aggregates_sharing_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX provider_aggregates_sharing_idx ON public.provider_aggregates USING btree (aggregate_id, provider_id) WHERE sharing;

--
-- Name: INDEX provider_aggregates_sharing_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.provider_aggregates_sharing_idx IS 'Sharing providers in an aggregate: few among up to 10,000 hosts.';

--
-- Name: provider_traits_trait_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX provider_traits_trait_id_idx ON public.provider_traits USING btree (trait_id, root_id, provider_id);

--
-- Name: INDEX provider_traits_trait_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.provider_traits_trait_id_idx IS 'Providers that have a trait, tree by tree: for candidates with two traits, two such lists are merged.';

--
-- Name: resource_providers_parent_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resource_providers_parent_id_idx ON public.resource_providers USING btree (parent_id) WHERE (parent_id IS NOT NULL);

--
-- Name: INDEX resource_providers_parent_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.resource_providers_parent_id_idx IS 'Children of a provider.';

--
-- Name: resource_providers_root_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resource_providers_root_id_idx ON public.resource_providers USING btree (root_id, id);

--
-- Name: INDEX resource_providers_root_id_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.resource_providers_root_id_idx IS 'All providers of a tree; with their ids, so that a page of trees finds its inventories by them.';

--
-- Name: resource_providers_roots_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resource_providers_roots_idx ON public.resource_providers USING btree (id) WHERE (parent_id IS NULL);

--
-- Name: INDEX resource_providers_roots_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.resource_providers_roots_idx IS 'All roots, in the order of their ids.';

--
-- Name: resource_providers_shuffled_roots_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resource_providers_shuffled_roots_idx ON public.resource_providers USING btree (hashint8extended(id, (0)::bigint), id) WHERE (parent_id IS NULL);

--
-- Name: INDEX resource_providers_shuffled_roots_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.resource_providers_shuffled_roots_idx IS 'All roots, in a pseudo-random order.';

--
-- Name: tree_classes_class_id_providers_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX tree_classes_class_id_providers_idx ON public.tree_classes USING btree (class_id, providers, root_id);

--
-- Name: INDEX tree_classes_class_id_providers_idx; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON INDEX public.tree_classes_class_id_providers_idx IS 'Trees with at least so many providers of a class.';

--
-- Name: consumers consumers_drop_lease; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER consumers_drop_lease AFTER DELETE ON public.consumers FOR EACH ROW WHEN (old.leased) EXECUTE FUNCTION public.lease_drop();

--
-- Name: allocations history_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE ON public.allocations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((((old.consumer_id IS DISTINCT FROM new.consumer_id) OR (old.provider_id IS DISTINCT FROM new.provider_id)) OR (old.class_id IS DISTINCT FROM new.class_id)) OR (old.used IS DISTINCT FROM new.used))) EXECUTE FUNCTION public.history_note_allocation();

ALTER TABLE public.allocations DISABLE TRIGGER history_changed;

--
-- Name: consumers history_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF generation, project_id, user_id, consumer_type_id ON public.consumers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((((old.generation IS DISTINCT FROM new.generation) OR (old.project_id IS DISTINCT FROM new.project_id)) OR (old.user_id IS DISTINCT FROM new.user_id)) OR (old.consumer_type_id IS DISTINCT FROM new.consumer_type_id))) EXECUTE FUNCTION public.history_note_consumer();

ALTER TABLE public.consumers DISABLE TRIGGER history_changed;

--
-- Name: inventories history_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF total, reserved, min_unit, max_unit, step_size, allocation_ratio ON public.inventories DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((((((old.total)::integer IS DISTINCT FROM (new.total)::integer) OR ((old.reserved)::integer IS DISTINCT FROM (new.reserved)::integer)) OR ((old.min_unit)::integer IS DISTINCT FROM (new.min_unit)::integer)) OR ((old.max_unit)::integer IS DISTINCT FROM (new.max_unit)::integer)) OR ((old.step_size)::integer IS DISTINCT FROM (new.step_size)::integer)) OR (old.allocation_ratio IS DISTINCT FROM new.allocation_ratio))) EXECUTE FUNCTION public.history_note_inventory();

ALTER TABLE public.inventories DISABLE TRIGGER history_changed;

--
-- Name: leases history_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF seconds, until ON public.leases DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.seconds IS DISTINCT FROM new.seconds) OR (old.until IS DISTINCT FROM new.until))) EXECUTE FUNCTION public.history_note_lease();

ALTER TABLE public.leases DISABLE TRIGGER history_changed;

--
-- Name: provider_generations history_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF generation ON public.provider_generations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.generation <> new.generation) AND (current_setting('berth.noted'::text, true) IS DISTINCT FROM 'on'::text))) EXECUTE FUNCTION public.history_note_generation();

ALTER TABLE public.provider_generations DISABLE TRIGGER history_changed;

--
-- Name: resource_classes history_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE OF name ON public.resource_classes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.name <> new.name)) EXECUTE FUNCTION public.history_note_name();

ALTER TABLE public.resource_classes DISABLE TRIGGER history_changed;

--
-- Name: resource_providers history_changed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_changed AFTER UPDATE ON public.resource_providers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((((old.name IS DISTINCT FROM new.name) OR (old.parent_id IS DISTINCT FROM new.parent_id)) OR (old.root_id IS DISTINCT FROM new.root_id)) OR (old.trait_ids IS DISTINCT FROM new.trait_ids)) OR (old.aggregate_ids IS DISTINCT FROM new.aggregate_ids))) EXECUTE FUNCTION public.history_note_provider();

ALTER TABLE public.resource_providers DISABLE TRIGGER history_changed;

--
-- Name: allocations history_row; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON public.allocations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((current_setting('berth.noted'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION public.history_note_allocation();

ALTER TABLE public.allocations DISABLE TRIGGER history_row;

--
-- Name: consumers history_row; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON public.consumers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((current_setting('berth.noted'::text, true) IS DISTINCT FROM 'on'::text)) EXECUTE FUNCTION public.history_note_consumer();

ALTER TABLE public.consumers DISABLE TRIGGER history_row;

--
-- Name: inventories history_row; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON public.inventories DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.history_note_inventory();

ALTER TABLE public.inventories DISABLE TRIGGER history_row;

--
-- Name: leases history_row; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON public.leases DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.history_note_lease();

ALTER TABLE public.leases DISABLE TRIGGER history_row;

--
-- Name: node_allocations history_row; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE OR UPDATE ON public.node_allocations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.history_note_node_allocation();

ALTER TABLE public.node_allocations DISABLE TRIGGER history_row;

--
-- Name: node_traits history_row; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON public.node_traits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.history_note_node_trait();

ALTER TABLE public.node_traits DISABLE TRIGGER history_row;

--
-- Name: nodes history_row; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE OR UPDATE ON public.nodes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.history_note_node();

ALTER TABLE public.nodes DISABLE TRIGGER history_row;

--
-- Name: provider_generations history_row; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row AFTER INSERT ON public.provider_generations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.history_note_generation();

ALTER TABLE public.provider_generations DISABLE TRIGGER history_row;

--
-- Name: resource_providers history_row; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row AFTER INSERT OR DELETE ON public.resource_providers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.history_note_provider();

ALTER TABLE public.resource_providers DISABLE TRIGGER history_row;

--
-- Name: resource_classes history_row_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row_deleted AFTER DELETE ON public.resource_classes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (starts_with(old.name, 'CUSTOM_'::text)) EXECUTE FUNCTION public.history_note_name();

ALTER TABLE public.resource_classes DISABLE TRIGGER history_row_deleted;

--
-- Name: traits history_row_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row_deleted AFTER DELETE ON public.traits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (starts_with(old.name, 'CUSTOM_'::text)) EXECUTE FUNCTION public.history_note_name();

ALTER TABLE public.traits DISABLE TRIGGER history_row_deleted;

--
-- Name: resource_classes history_row_made; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row_made AFTER INSERT ON public.resource_classes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (starts_with(new.name, 'CUSTOM_'::text)) EXECUTE FUNCTION public.history_note_name();

ALTER TABLE public.resource_classes DISABLE TRIGGER history_row_made;

--
-- Name: traits history_row_made; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER history_row_made AFTER INSERT ON public.traits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (starts_with(new.name, 'CUSTOM_'::text)) EXECUTE FUNCTION public.history_note_name();

ALTER TABLE public.traits DISABLE TRIGGER history_row_made;

--
-- Name: inventories inventories_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER inventories_deleted AFTER DELETE ON public.inventories REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.tree_class_count();

--
-- Name: inventories inventories_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER inventories_inserted AFTER INSERT ON public.inventories REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.tree_class_count();

--
-- Name: node_traits node_traits_provider_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER node_traits_provider_delete AFTER DELETE ON public.node_traits REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.node_traits_sync_trigger();

--
-- Name: node_traits node_traits_provider_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER node_traits_provider_insert AFTER INSERT ON public.node_traits REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.node_traits_sync_trigger();

--
-- Name: nodes nodes_provider_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER nodes_provider_delete AFTER DELETE ON public.nodes FOR EACH ROW EXECUTE FUNCTION public.node_provider_sync_trigger();

--
-- Name: nodes nodes_provider_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER nodes_provider_insert AFTER INSERT ON public.nodes FOR EACH ROW EXECUTE FUNCTION public.node_provider_sync_trigger();

--
-- Name: nodes nodes_provider_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER nodes_provider_update AFTER UPDATE ON public.nodes FOR EACH ROW WHEN (((old.resource_class IS DISTINCT FROM new.resource_class) OR (old.provision_state <> new.provision_state) OR (old.instance_uuid IS DISTINCT FROM new.instance_uuid) OR (old.maintenance <> new.maintenance) OR (old.power_state IS DISTINCT FROM new.power_state))) EXECUTE FUNCTION public.node_provider_sync_trigger();

--
-- Name: provider_aggregates provider_aggregates_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_aggregates_deleted AFTER DELETE ON public.provider_aggregates REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.provider_aggregates_denormalize();

--
-- Name: provider_aggregates provider_aggregates_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_aggregates_inserted AFTER INSERT ON public.provider_aggregates REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.provider_aggregates_denormalize();

--
-- Name: provider_aggregates provider_aggregates_root; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_aggregates_root BEFORE INSERT ON public.provider_aggregates FOR EACH ROW WHEN ((new.root_id IS NULL)) EXECUTE FUNCTION public.provider_copy_root();

--
-- Name: provider_traits provider_traits_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_traits_deleted AFTER DELETE ON public.provider_traits REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.provider_traits_denormalize();

--
-- Name: provider_traits provider_traits_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_traits_inserted AFTER INSERT ON public.provider_traits REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.provider_traits_denormalize();

--
-- Name: provider_traits provider_traits_root; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_traits_root BEFORE INSERT ON public.provider_traits FOR EACH ROW WHEN ((new.root_id IS NULL)) EXECUTE FUNCTION public.provider_copy_root();

--
-- Name: resource_classes resource_classes_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER resource_classes_deleted AFTER DELETE ON public.resource_classes FOR EACH STATEMENT EXECUTE FUNCTION public.name_changes_count();

--
-- Name: resource_classes resource_classes_renamed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER resource_classes_renamed AFTER UPDATE OF name ON public.resource_classes FOR EACH STATEMENT EXECUTE FUNCTION public.name_changes_count();

--
-- Name: resource_providers resource_providers_revise; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER resource_providers_revise BEFORE UPDATE ON public.resource_providers FOR EACH ROW EXECUTE FUNCTION public.provider_revise();

--
-- Name: traits traits_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER traits_deleted AFTER DELETE ON public.traits FOR EACH STATEMENT EXECUTE FUNCTION public.name_changes_count();

--
-- Name: traits traits_renamed; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER traits_renamed AFTER UPDATE OF name ON public.traits FOR EACH STATEMENT EXECUTE FUNCTION public.name_changes_count();

--
-- Name: allocations allocations_consumer_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.allocations
    ADD CONSTRAINT allocations_consumer_id_fkey FOREIGN KEY (consumer_id) REFERENCES public.consumers(id);

--
-- Name: allocations allocations_inventory_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.allocations
    ADD CONSTRAINT allocations_inventory_fkey FOREIGN KEY (provider_id, class_id) REFERENCES public.inventories(provider_id, class_id);

--
-- Name: consumers consumers_consumer_type_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.consumers
    ADD CONSTRAINT consumers_consumer_type_id_fkey FOREIGN KEY (consumer_type_id) REFERENCES public.consumer_types(id);

--
-- Name: consumers consumers_project_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.consumers
    ADD CONSTRAINT consumers_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);

--
-- Name: consumers consumers_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.consumers
    ADD CONSTRAINT consumers_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);

--
-- Name: inventories inventories_class_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.inventories
    ADD CONSTRAINT inventories_class_id_fkey FOREIGN KEY (class_id) REFERENCES public.resource_classes(id);

--
-- Name: inventories inventories_provider_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.inventories
    ADD CONSTRAINT inventories_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES public.resource_providers(id);

--
-- Name: node_allocations node_allocations_conductor_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_allocations
    ADD CONSTRAINT node_allocations_conductor_id_fkey FOREIGN KEY (conductor_id) REFERENCES public.conductors(id);

--
-- Name: node_allocations node_allocations_node_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_allocations
    ADD CONSTRAINT node_allocations_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id);

--
-- Name: node_traits node_traits_node_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.node_traits
    ADD CONSTRAINT node_traits_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE CASCADE;

--
-- Name: nodes nodes_conductor_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_conductor_id_fkey FOREIGN KEY (conductor_id) REFERENCES public.conductors(id);

--
-- Name: ports ports_node_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ports
    ADD CONSTRAINT ports_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id) ON DELETE CASCADE;

--
-- Name: provider_aggregates provider_aggregates_aggregate_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provider_aggregates
    ADD CONSTRAINT provider_aggregates_aggregate_id_fkey FOREIGN KEY (aggregate_id) REFERENCES public.aggregates(id);

--
-- Name: provider_aggregates provider_aggregates_provider_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provider_aggregates
    ADD CONSTRAINT provider_aggregates_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES public.resource_providers(id);

--
-- Name: provider_generations provider_generations_provider_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provider_generations
    ADD CONSTRAINT provider_generations_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES public.resource_providers(id);

--
-- Name: provider_traits provider_traits_provider_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provider_traits
    ADD CONSTRAINT provider_traits_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES public.resource_providers(id);

--
-- Name: provider_traits provider_traits_trait_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.provider_traits
    ADD CONSTRAINT provider_traits_trait_id_fkey FOREIGN KEY (trait_id) REFERENCES public.traits(id);

--
-- Name: resource_providers resource_providers_parent_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_providers
    ADD CONSTRAINT resource_providers_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES public.resource_providers(id);

--
-- Name: resource_providers resource_providers_root_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_providers
    ADD CONSTRAINT resource_providers_root_id_fkey FOREIGN KEY (root_id) REFERENCES public.resource_providers(id);
