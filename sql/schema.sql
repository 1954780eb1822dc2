-- The schema of a migrated database. Generated: do not edit.

--
-- Name: natural_int; Type: DOMAIN; Schema: public; Owner: -
--

CREATE DOMAIN public.natural_int AS integer
	CONSTRAINT natural_int_check CHECK ((VALUE >= 0));

--
-- Name: positive_int; Type: DOMAIN; Schema: public; Owner: -
--

CREATE DOMAIN public.positive_int AS integer
	CONSTRAINT positive_int_check CHECK ((VALUE >= 1));

--
-- Name: allocation_apply(bigint[], bigint[], bigint[], bigint[], integer[], integer[], bigint[], integer[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_apply(p_consumers bigint[], p_generations bigint[], p_projects bigint[], p_users bigint[], p_types integer[], p_owners integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
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
    v_written int;
BEGIN
    INSERT INTO consumers AS made (uuid, generation, project_id, user_id, consumer_type_id)
    SELECT p_consumer, 1, found.project, found.owner, found.type
    FROM (
        SELECT (SELECT project.id FROM projects AS project WHERE project.external_id = p_project) AS project,
            (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_user) AS owner,
            (SELECT type.id FROM consumer_types AS type WHERE type.name = p_type) AS type
        OFFSET 0  -- looked up once, although each is asked for twice
    ) AS found
    WHERE found.project IS NOT NULL AND found.owner IS NOT NULL AND (found.type IS NOT NULL OR p_type = '')
      AND NOT EXISTS (SELECT FROM consumers AS present WHERE present.uuid = p_consumer)
    ON CONFLICT (uuid) DO NOTHING
    RETURNING made.id,
        (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = p_provider),
        ARRAY(
            SELECT (SELECT class.id FROM resource_classes AS class WHERE class.name = wanted.class)
            FROM unnest(p_classes) WITH ORDINALITY AS wanted (class, place)
            ORDER BY wanted.place)
    INTO v_consumer, v_provider, v_classes;
    IF v_consumer IS NULL THEN
        RETURN false;
    END IF;
    UPDATE provider_generations SET generation = generation + 1, updated_at = now() WHERE provider_id = v_provider;
    WITH taken AS (
        UPDATE inventories SET used = used + p_amounts[array_position(v_classes, class_id)]
        WHERE provider_id = v_provider AND class_id = ANY (v_classes)
          AND min_unit <= p_amounts[array_position(v_classes, class_id)]
          AND max_unit >= p_amounts[array_position(v_classes, class_id)]
          AND p_amounts[array_position(v_classes, class_id)] % step_size = 0
          -- Amounts reach the end of bigint; on this side of the comparison nothing overflows.
          AND p_amounts[array_position(v_classes, class_id)] <= (total - reserved) * allocation_ratio - used
        RETURNING class_id
    )
    INSERT INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT v_consumer, v_provider, taken.class_id, p_amounts[array_position(v_classes, taken.class_id)]
    FROM taken ORDER BY array_position(v_classes, taken.class_id);
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written < cardinality(p_classes) THEN
        PERFORM allocation_claim_refuse(v_consumer, p_provider, v_provider, p_classes, v_classes, p_amounts);
    END IF;
    RETURN true;
END
$$;

--
-- Name: allocation_claim_refuse(bigint, uuid, bigint, text[], integer[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_claim_refuse(p_consumer_id bigint, p_provider uuid, p_provider_id bigint, p_classes text[], p_class_ids integer[], p_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_providers bigint[] := array_fill(p_provider_id, ARRAY[cardinality(p_classes)]);
    v_full int[];
BEGIN
    IF p_provider_id IS NULL OR array_position(p_class_ids, NULL) IS NOT NULL THEN
        PERFORM allocation_resolve(array_fill(p_provider, ARRAY[cardinality(p_classes)]), p_classes);
        RAISE EXCEPTION 'names of a claim on provider % are new', p_provider USING ERRCODE = '40001';
    END IF;
    v_full := ARRAY(
        SELECT wanted.class_id FROM unnest(p_class_ids) AS wanted (class_id)
        EXCEPT SELECT written.class_id FROM allocations AS written WHERE written.consumer_id = p_consumer_id);
    PERFORM allocation_refuse(v_providers, v_full, v_providers, p_class_ids, p_amounts,
        '{}'::bigint[], '{}'::int[], '{}'::bigint[]);
END
$$;

--
-- Name: allocation_delete(uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_delete(p_consumer uuid) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id bigint;
    v_row allocations;
BEGIN
    SELECT consumer.id INTO v_id FROM consumers AS consumer WHERE consumer.uuid = p_consumer FOR UPDATE;
    IF v_id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM allocation_lock_providers(ARRAY[v_id], '{}');
    FOR v_row IN DELETE FROM allocations WHERE consumer_id = v_id RETURNING allocations.* LOOP
        UPDATE inventories SET used = used - v_row.used
        WHERE provider_id = v_row.provider_id AND class_id = v_row.class_id;
    END LOOP;
    DELETE FROM consumers WHERE id = v_id;
    RETURN true;
END
$$;

--
-- Name: allocation_lock_providers(bigint[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_lock_providers(p_consumers bigint[], p_providers bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM provider_generations AS held
    WHERE held.provider_id = ANY (
        p_providers || ARRAY(SELECT taken.provider_id FROM allocations AS taken WHERE taken.consumer_id = ANY (p_consumers)))
    ORDER BY held.provider_id
    FOR NO KEY UPDATE;
END
$$;

--
-- Name: allocation_refuse(bigint[], integer[], bigint[], integer[], bigint[], bigint[], integer[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_refuse(p_full_providers bigint[], p_full_classes integer[], p_providers bigint[], p_classes integer[], p_amounts bigint[], p_gone_providers bigint[], p_gone_classes integer[], p_gone_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_wrong record;
BEGIN
    WITH wanted AS (
        SELECT item.place, item.provider_id, item.class_id, item.amount,
            sum(item.amount) OVER (PARTITION BY item.provider_id, item.class_id ORDER BY item.place) AS so_far
        FROM unnest(p_providers, p_classes, p_amounts) WITH ORDINALITY AS item (provider_id, class_id, amount, place)
    ), freed AS (
        SELECT gone.provider_id, gone.class_id, -sum(gone.amount) AS used
        FROM unnest(p_gone_providers, p_gone_classes, p_gone_amounts) AS gone (provider_id, class_id, amount)
        GROUP BY gone.provider_id, gone.class_id
    ), judged AS (
        SELECT wanted.place, wanted.provider_id, wanted.class_id,
            CASE
                WHEN inventory.provider_id IS NULL THEN 'PL010'
                WHEN wanted.amount < inventory.min_unit OR wanted.amount > inventory.max_unit
                    OR wanted.amount % inventory.step_size <> 0 THEN 'PL011'
                WHEN wanted.so_far > coalesce(freed.used, 0)
                    AND inventory.used - coalesce(freed.used, 0) + wanted.so_far
                        > (inventory.total - inventory.reserved) * inventory.allocation_ratio THEN 'PL012'
            END AS rule
        FROM unnest(p_full_providers, p_full_classes) AS full_up (provider_id, class_id)
        JOIN wanted USING (provider_id, class_id)
        LEFT JOIN inventories AS inventory USING (provider_id, class_id)
        LEFT JOIN freed USING (provider_id, class_id)
    )
    SELECT judged.rule, provider.uuid AS provider, class.name AS class INTO v_wrong
    FROM judged
    LEFT JOIN resource_providers AS provider ON provider.id = judged.provider_id
    LEFT JOIN resource_classes AS class ON class.id = judged.class_id
    WHERE judged.rule IS NOT NULL
    ORDER BY judged.place
    LIMIT 1;
    RAISE EXCEPTION 'allocation of % on provider % does not fit', v_wrong.class, v_wrong.provider
        USING ERRCODE = CASE WHEN v_wrong.provider IS NULL OR v_wrong.class IS NULL THEN '40001' ELSE v_wrong.rule END,
        DETAIL = json_build_object('provider', v_wrong.provider, 'class', v_wrong.class);
END
$$;

--
-- Name: allocation_replace(uuid[], text[], text[], text[], boolean, bigint[], boolean[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_replace(p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_check_generations boolean, p_generations bigint[], p_unseen boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held record;
    v_named record;
BEGIN
    IF cardinality(p_consumers) = 1 AND p_unseen[1] AND cardinality(p_providers) > 0
        AND p_providers[1] = ALL (p_providers)
    THEN
        IF allocation_claim(p_consumers[1], p_projects[1], p_users[1], p_types[1], p_providers[1], p_classes, p_amounts) THEN
            RETURN;
        END IF;
    END IF;
    v_held := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    IF p_check_generations THEN
        PERFORM consumer_check_generation(p_consumers, v_held.generations, p_generations, p_unseen);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    PERFORM allocation_lock_providers(v_held.ids, v_named.providers);
    PERFORM allocation_apply(v_held.ids, v_held.generations, v_held.projects, v_held.users, v_held.types,
        p_owners, v_named.providers, v_named.classes, p_amounts);
END
$$;

--
-- Name: allocation_resolve(uuid[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.allocation_resolve(p_providers uuid[], p_classes text[], OUT providers bigint[], OUT classes integer[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_place int;
BEGIN
    SELECT coalesce(array_agg(found.provider), '{}'), coalesce(array_agg(found.class), '{}') INTO providers, classes
    FROM (
        SELECT (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = wanted.provider) AS provider,
            (SELECT class.id FROM resource_classes AS class WHERE class.name = wanted.class) AS class
        FROM unnest(p_providers, p_classes) WITH ORDINALITY AS wanted (provider, class, place)
        ORDER BY wanted.place
    ) AS found;
    v_place := array_position(providers, NULL);
    IF v_place IS NOT NULL THEN
        RAISE EXCEPTION 'allocation for provider % that does not exist', p_providers[v_place]
            USING ERRCODE = 'PL009', DETAIL = json_build_object('provider', p_providers[v_place]);
    END IF;
    v_place := array_position(classes, NULL);
    IF v_place IS NOT NULL THEN
        RAISE EXCEPTION 'no resource class %', p_classes[v_place]
            USING ERRCODE = 'PL004', DETAIL = json_build_object('class', p_classes[v_place]);
    END IF;
END
$$;

--
-- Name: bump_provider(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.bump_provider(p_provider_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_generation bigint;
BEGIN
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = p_provider_id
    RETURNING generation INTO v_generation;
    RETURN v_generation;
END
$$;

--
-- Name: conductor_take_over(text, interval); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.conductor_take_over(p_hostname text, p_silence interval, OUT allocations uuid[], OUT nodes uuid[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_me int := (SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_hostname);
    v_dead int[] := ARRAY(
        SELECT conductor.id FROM conductors AS conductor
        WHERE conductor.hostname <> p_hostname AND (NOT conductor.online OR conductor.updated_at < now() - p_silence));
BEGIN
    IF v_me IS NULL THEN
        RAISE EXCEPTION 'no conductor %', p_hostname USING ERRCODE = 'PL040',
            DETAIL = json_build_object('conductor', p_hostname);
    END IF;
    WITH left_behind AS (
        SELECT node.id FROM nodes AS node WHERE node.conductor_id = ANY (v_dead)
        ORDER BY node.id FOR NO KEY UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE nodes AS node SET conductor_id = v_me, revision = node.revision + 1
        FROM left_behind WHERE node.id = left_behind.id
        RETURNING node.id, node.uuid
    )
    SELECT coalesce(array_agg(taken.uuid ORDER BY taken.id), '{}') INTO conductor_take_over.nodes FROM taken;
    WITH left_behind AS (
        SELECT allocation.id FROM node_allocations AS allocation
        WHERE allocation.state = 'allocating' AND (allocation.conductor_id = ANY (v_dead) OR allocation.conductor_id IS NULL)
        ORDER BY allocation.id FOR NO KEY UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE node_allocations AS allocation SET conductor_id = v_me, revision = allocation.revision + 1 FROM left_behind WHERE allocation.id = left_behind.id
        RETURNING allocation.id, allocation.uuid
    )
    SELECT coalesce(array_agg(taken.uuid ORDER BY taken.id), '{}') INTO conductor_take_over.allocations FROM taken;

    DELETE FROM conductors AS conductor
    WHERE conductor.id = ANY (v_dead) AND conductor.updated_at < now() - greatest(p_silence, interval '1 day')
      AND NOT EXISTS (SELECT FROM nodes AS node WHERE node.conductor_id = conductor.id)
      AND NOT EXISTS (
        SELECT FROM node_allocations AS allocation
        WHERE allocation.conductor_id = conductor.id AND allocation.state = 'allocating');
END
$$;

--
-- Name: consumer_check_generation(uuid[], bigint[], bigint[], boolean[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.consumer_check_generation(p_uuids uuid[], p_actual bigint[], p_given bigint[], p_unseen boolean[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_uuids) LOOP
        IF (p_actual[i] < 0) <> p_unseen[i] OR p_actual[i] >= 0 AND p_actual[i] <> p_given[i] THEN
            RAISE EXCEPTION 'generation of consumer % is not what the client says', p_uuids[i]
                USING ERRCODE = 'PL003', DETAIL = json_build_object('consumer', p_uuids[i],
                    'actual', nullif(p_actual[i], -1),
                    'given', CASE WHEN NOT p_unseen[i] THEN p_given[i] END);
        END IF;
    END LOOP;
END
$$;

--
-- Name: consumer_lock(uuid[], text[], text[], text[], boolean[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.consumer_lock(p_uuids uuid[], p_projects text[], p_users text[], p_types text[], p_unseen boolean[], OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types integer[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_missing bool;
    v_order int[];
    v_place int;
    v_id bigint;
    v_generation bigint;
BEGIN
    -- By far the most requests are for one consumer that is new, of a project, user
    -- and type that are not: one statement is enough for those.
    IF cardinality(p_uuids) = 1 AND p_unseen[1] THEN
        INSERT INTO consumers AS made (uuid, generation, project_id, user_id, consumer_type_id)
        SELECT p_uuids[1], 1, found.project, found.owner, found.type
        FROM (
            SELECT (SELECT project.id FROM projects AS project WHERE project.external_id = p_projects[1]) AS project,
                (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_users[1]) AS owner,
                (SELECT type.id FROM consumer_types AS type WHERE type.name = p_types[1]) AS type
            OFFSET 0  -- looked up once, although each is asked for twice
        ) AS found
        WHERE found.project IS NOT NULL AND found.owner IS NOT NULL AND (found.type IS NOT NULL OR p_types[1] = '')
          AND NOT EXISTS (SELECT FROM consumers AS present WHERE present.uuid = p_uuids[1])
        ON CONFLICT (uuid) DO NOTHING
        RETURNING ARRAY[made.id], '{-1}'::bigint[], ARRAY[made.project_id], ARRAY[made.user_id],
            ARRAY[coalesce(made.consumer_type_id, 0)]
        INTO ids, generations, projects, users, types;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;

    LOOP
        SELECT coalesce(array_agg(found.project), '{}'), coalesce(array_agg(found.owner), '{}'),
            coalesce(array_agg(found.type), '{}'), coalesce(array_agg(found.place ORDER BY found.uuid), '{}'),
            bool_or(found.project IS NULL OR found.owner IS NULL OR found.type IS NULL)
        INTO projects, users, types, v_order, v_missing
        FROM (
            SELECT wanted.place, wanted.uuid,
                (SELECT project.id FROM projects AS project WHERE project.external_id = wanted.project) AS project,
                (SELECT owner.id FROM users AS owner WHERE owner.external_id = wanted.owner) AS owner,
                CASE WHEN wanted.type = '' THEN 0
                    ELSE (SELECT type.id FROM consumer_types AS type WHERE type.name = wanted.type) END AS type
            FROM unnest(p_uuids, p_projects, p_users, p_types)
                WITH ORDINALITY AS wanted (uuid, project, owner, type, place)
            ORDER BY wanted.place
        ) AS found;
        EXIT WHEN v_missing IS NOT TRUE;
        PERFORM consumer_references(p_projects, p_users, p_types);
    END LOOP;

    ids := array_fill(0, ARRAY[cardinality(p_uuids)]);
    generations := ids;
    FOREACH v_place IN ARRAY v_order LOOP
        LOOP
            SELECT held.id, held.generation INTO v_id, v_generation
            FROM consumers AS held WHERE held.uuid = p_uuids[v_place] FOR NO KEY UPDATE;
            EXIT WHEN FOUND;
            v_generation := -1;
            INSERT INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
            VALUES (p_uuids[v_place], 1, projects[v_place], users[v_place], nullif(types[v_place], 0))
            ON CONFLICT (uuid) DO NOTHING
            RETURNING id INTO v_id;
            -- If another request was faster, its consumer is found in the next turn.
            EXIT WHEN FOUND;
        END LOOP;
        ids[v_place] := v_id;
        generations[v_place] := v_generation;
    END LOOP;
END
$$;

--
-- Name: consumer_references(text[], text[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.consumer_references(p_projects text[], p_users text[], p_types text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO projects (external_id)
    SELECT DISTINCT wanted.id FROM unnest(p_projects) AS wanted (id)
    WHERE NOT EXISTS (SELECT FROM projects AS present WHERE present.external_id = wanted.id)
    ORDER BY wanted.id ON CONFLICT DO NOTHING;
    INSERT INTO users (external_id)
    SELECT DISTINCT wanted.id FROM unnest(p_users) AS wanted (id)
    WHERE NOT EXISTS (SELECT FROM users AS present WHERE present.external_id = wanted.id)
    ORDER BY wanted.id ON CONFLICT DO NOTHING;
    INSERT INTO consumer_types (name)
    SELECT DISTINCT wanted.name FROM unnest(p_types) AS wanted (name)
    WHERE wanted.name <> ''
      AND NOT EXISTS (SELECT FROM consumer_types AS present WHERE present.name = wanted.name)
    ORDER BY wanted.name ON CONFLICT DO NOTHING;
END
$$;

--
-- Name: inventory_check_capacity(uuid, jsonb, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_check_capacity(p_provider uuid, p_records jsonb, p_min_capacity integer) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_class text;
BEGIN
    SELECT item.record ->> 'class' INTO v_class
    FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, place)
    WHERE trunc(
        ((item.record ->> 'total')::int - (item.record ->> 'reserved')::int)
        * (item.record ->> 'allocation_ratio')::float8
    ) < p_min_capacity
    ORDER BY item.place
    LIMIT 1;
    IF v_class IS NOT NULL THEN
        RAISE EXCEPTION 'inventory of % on provider % has too much reserved', v_class, p_provider
            USING ERRCODE = 'PL006', DETAIL = json_build_object('provider', p_provider, 'class', v_class);
    END IF;
END
$$;

--
-- Name: inventory_clear(uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_clear(p_provider uuid) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held record;
BEGIN
    SELECT * INTO v_held FROM lock_provider(p_provider, NULL, false, false);
    PERFORM inventory_drop_others(p_provider, v_held.provider_id, '{}');
    RETURN bump_provider(v_held.provider_id);
END
$$;

--
-- Name: inventory_create(uuid, jsonb, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_create(p_provider uuid, p_record jsonb, p_min_capacity integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held record;
BEGIN
    SELECT * INTO v_held FROM lock_provider(p_provider, NULL, true, false);
    PERFORM inventory_check_capacity(p_provider, jsonb_build_array(p_record), p_min_capacity);
    IF EXISTS (
        SELECT FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
        WHERE inventory.provider_id = v_held.provider_id AND class.name = p_record ->> 'class'
    ) THEN
        RAISE EXCEPTION 'provider % has inventory of % already', p_provider, p_record ->> 'class'
            USING ERRCODE = 'PL008',
            DETAIL = json_build_object('provider', p_provider, 'class', p_record ->> 'class');
    END IF;
    PERFORM inventory_write(v_held.provider_id, v_held.root_id, jsonb_build_array(p_record));
    RETURN bump_provider(v_held.provider_id);
END
$$;

--
-- Name: inventory_delete(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_delete(p_provider uuid, p_class text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held record;
    v_used bigint;
BEGIN
    SELECT * INTO v_held FROM lock_provider(p_provider, NULL, false, false);
    SELECT inventory.used INTO v_used
    FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
    WHERE inventory.provider_id = v_held.provider_id AND class.name = p_class;
    IF v_used IS NULL OR v_used > 0 THEN
        RAISE EXCEPTION 'inventory of % on provider % cannot be deleted', p_class, p_provider
            USING ERRCODE = CASE WHEN v_used IS NULL THEN 'PL007' ELSE 'PL005' END,
            DETAIL = json_build_object('provider', p_provider, 'class', p_class);
    END IF;
    DELETE FROM inventories AS inventory USING resource_classes AS class
    WHERE inventory.provider_id = v_held.provider_id AND class.id = inventory.class_id AND class.name = p_class;
    RETURN bump_provider(v_held.provider_id);
END
$$;

--
-- Name: inventory_drop_others(uuid, bigint, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_drop_others(p_provider uuid, p_provider_id bigint, p_keep text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_in_use text[];
BEGIN
    SELECT array_agg(class.name ORDER BY class.id) INTO v_in_use
    FROM inventories AS inventory JOIN resource_classes AS class ON class.id = inventory.class_id
    WHERE inventory.provider_id = p_provider_id AND inventory.used > 0 AND class.name <> ALL (p_keep);
    IF v_in_use IS NOT NULL THEN
        RAISE EXCEPTION 'inventory of % on provider % is in use', array_to_string(v_in_use, ', '), p_provider
            USING ERRCODE = 'PL005',
            DETAIL = json_build_object('provider', p_provider, 'class', array_to_string(v_in_use, ', '));
    END IF;
    DELETE FROM inventories AS inventory USING resource_classes AS class
    WHERE inventory.provider_id = p_provider_id AND class.id = inventory.class_id AND class.name <> ALL (p_keep);
END
$$;

--
-- Name: inventory_names(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_names(p_records jsonb) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT item.record ->> 'class'
        FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, place)
        ORDER BY item.place);
END
$$;

--
-- Name: inventory_replace(uuid, bigint, jsonb, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_replace(p_provider uuid, p_generation bigint, p_records jsonb, p_min_capacity integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held record;
BEGIN
    SELECT * INTO v_held FROM lock_provider(p_provider, p_generation, true, false);
    PERFORM inventory_check_capacity(p_provider, p_records, p_min_capacity);
    PERFORM inventory_write(v_held.provider_id, v_held.root_id, p_records);
    PERFORM inventory_drop_others(p_provider, v_held.provider_id, inventory_names(p_records));
    RETURN bump_provider(v_held.provider_id);
END
$$;

--
-- Name: inventory_update(uuid, bigint, jsonb, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_update(p_provider uuid, p_generation bigint, p_record jsonb, p_min_capacity integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held record;
    v_class int;
BEGIN
    SELECT * INTO v_held FROM lock_provider(p_provider, p_generation, true, false);
    PERFORM inventory_check_capacity(p_provider, jsonb_build_array(p_record), p_min_capacity);
    v_class := (resource_class_ids(ARRAY[p_record ->> 'class']))[1];
    IF NOT EXISTS (
        SELECT FROM inventories AS inventory
        WHERE inventory.provider_id = v_held.provider_id AND inventory.class_id = v_class
    ) THEN
        RAISE EXCEPTION 'provider % has no inventory of %', p_provider, p_record ->> 'class'
            USING ERRCODE = 'PL007',
            DETAIL = json_build_object('provider', p_provider, 'class', p_record ->> 'class');
    END IF;
    PERFORM inventory_write(v_held.provider_id, v_held.root_id, jsonb_build_array(p_record));
    RETURN bump_provider(v_held.provider_id);
END
$$;

--
-- Name: inventory_write(bigint, bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.inventory_write(p_provider_id bigint, p_root_id bigint, p_records jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_classes int[] := resource_class_ids(inventory_names(p_records));
BEGIN
    INSERT INTO inventories AS present (
        provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
    SELECT p_provider_id, v_classes[item.place], p_root_id,
        (item.record ->> 'total')::int, (item.record ->> 'reserved')::int, (item.record ->> 'min_unit')::int,
        (item.record ->> 'max_unit')::int, (item.record ->> 'step_size')::int,
        (item.record ->> 'allocation_ratio')::float8
    FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, place)
    ORDER BY v_classes[item.place]
    ON CONFLICT (provider_id, class_id) DO UPDATE SET
        total = excluded.total, reserved = excluded.reserved, min_unit = excluded.min_unit,
        max_unit = excluded.max_unit, step_size = excluded.step_size,
        allocation_ratio = excluded.allocation_ratio, updated_at = now();
END
$$;

--
-- Name: lock_provider(uuid, bigint, boolean, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.lock_provider(p_uuid uuid, p_generation bigint, p_with_root boolean, p_with_copies boolean, OUT provider_id bigint, OUT root_id bigint, OUT generation bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
    SELECT provider.id INTO provider_id FROM resource_providers AS provider WHERE provider.uuid = p_uuid;
    IF p_with_root THEN
        root_id := lock_root_shared(provider_id);
    END IF;
    IF p_with_copies THEN
        PERFORM FROM resource_providers AS provider WHERE provider.id = lock_provider.provider_id FOR NO KEY UPDATE;
    ELSE
        PERFORM FROM resource_providers AS provider WHERE provider.id = lock_provider.provider_id FOR KEY SHARE;
    END IF;
    SELECT held.generation INTO generation FROM provider_generations AS held
    WHERE held.provider_id = lock_provider.provider_id FOR NO KEY UPDATE;
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
-- Name: lock_root_shared(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.lock_root_shared(p_provider_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_root bigint;
    v_roots_root bigint;
    v_now bigint;
BEGIN
    LOOP
        SELECT provider.root_id INTO v_root FROM resource_providers AS provider WHERE provider.id = p_provider_id;
        EXIT WHEN v_root IS NULL;
        SELECT root.root_id INTO v_roots_root FROM resource_providers AS root WHERE root.id = v_root FOR SHARE;
        EXIT WHEN FOUND;  -- else the root is gone, and nothing is locked
    END LOOP;
    -- Locking and looking are separate statements: this one sees what was done
    -- while the other waited.
    SELECT provider.root_id INTO v_now FROM resource_providers AS provider WHERE provider.id = p_provider_id;
    IF v_roots_root <> v_root OR v_now <> v_root THEN
        RAISE EXCEPTION 'the tree of provider % has been moved', p_provider_id USING ERRCODE = '40001';
    END IF;
    RETURN v_now;
END
$$;

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

COMMENT ON TABLE public.nodes IS 'Bare metal machines, as the Bare Metal API knows them.';

--
-- Name: node_allocation_backfill(public.nodes, text, uuid, text, text[], uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_backfill(p_node public.nodes, p_ident text, p_uuid uuid, p_class text, p_traits text[], p_candidates uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_lacking text[] := node_allocation_lacking(p_node.id, p_traits);
    v_rule text := CASE
        WHEN p_node.id IS NULL THEN 'PL030'
        WHEN p_node.instance_uuid <> p_uuid THEN 'PL032'
        WHEN p_node.provision_state <> 'active' THEN 'PL046'
        WHEN p_node.resource_class IS DISTINCT FROM coalesce(p_class, p_node.resource_class) THEN 'PL047'
        WHEN cardinality(v_lacking) > 0 THEN 'PL048'
        WHEN cardinality(p_candidates) > 0 AND p_node.uuid <> ALL (p_candidates) THEN 'PL049'
    END;
BEGIN
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'node % cannot be backfilled', p_ident USING ERRCODE = v_rule,
            DETAIL = json_build_object('node', coalesce(p_node.uuid::text, p_ident), 'state', p_node.provision_state,
                'instance', p_node.instance_uuid, 'class', p_node.resource_class, 'traits', array_to_string(v_lacking, ', '),
                'allocation', p_uuid);
    END IF;
END
$$;

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

COMMENT ON TABLE public.node_allocations IS 'Requests for a bare metal node and what became of them: the allocations of the Bare Metal API.';

--
-- Name: node_allocation_batch(public.node_allocations, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_batch(p_wanted public.node_allocations, p_unit integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_members bigint[];
    v_member node_allocations;
    v_reasons text[] := '{}'::text[];
    v_reason text;
    v_given int := 0;
    v_short bool := false;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('node allocation batch ' || p_wanted.batch_uuid, 0));
    v_members := ARRAY(
        SELECT member.id FROM node_allocations AS member
        WHERE member.conductor_id = p_wanted.conductor_id AND member.state = 'allocating'
          AND member.batch_uuid = p_wanted.batch_uuid
        ORDER BY member.id);
    BEGIN
        FOR v_member IN SELECT member.* FROM node_allocations AS member WHERE member.id = ANY (v_members) ORDER BY member.id LOOP
            v_reasons := v_reasons || coalesce(node_allocation_decide(v_member, p_unit), '');
        END LOOP;
        -- Counted, since one that was deleted meanwhile is no longer to be decided.
        v_given := (SELECT count(*) FROM node_allocations AS member WHERE member.id = ANY (v_members) AND member.state = 'active');
        IF v_given < p_wanted.batch_minimum THEN
            RAISE no_data_found;
        END IF;
    EXCEPTION
        WHEN no_data_found THEN v_short := true;
    END;

    FOR v_member IN SELECT member.* FROM node_allocations AS member WHERE member.id = ANY (v_members) ORDER BY member.id LOOP
        v_reason := v_reasons[array_position(v_members, v_member.id)];
        IF v_short THEN
            v_reason := format('only %s of at least %s nodes could be reserved for the batch: %s', v_given, p_wanted.batch_minimum,
                coalesce((SELECT one.reason FROM unnest(v_reasons) AS one (reason) WHERE one.reason <> '' LIMIT 1), 'the others were deleted'));
        END IF;
        IF v_member.state = 'allocating' THEN
            PERFORM node_allocation_fail(v_member, v_reason);
        ELSE
            PERFORM pg_notify('berth_decisions', v_member.uuid::text);
        END IF;
    END LOOP;
END
$$;

--
-- Name: node_allocation_candidates(uuid[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_candidates(p_uuids uuid[], p_names text[]) RETURNS uuid[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_found uuid[];
    v_unknown text[];
BEGIN
    SELECT coalesce(array_agg(found.uuid ORDER BY found.place), '{}'),
        array_agg(found.name ORDER BY found.place) FILTER (WHERE found.uuid IS NULL)
    INTO v_found, v_unknown
    FROM (
        SELECT wanted.place, wanted.name,
            CASE WHEN wanted.uuid = '00000000-0000-0000-0000-000000000000'
                THEN (SELECT node.uuid FROM nodes AS node WHERE node.name = wanted.name)
                ELSE (SELECT node.uuid FROM nodes AS node WHERE node.uuid = wanted.uuid) END AS uuid
        FROM unnest(p_uuids, p_names) WITH ORDINALITY AS wanted (uuid, name, place)
    ) AS found;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no nodes %', v_unknown USING ERRCODE = 'PL043',
            DETAIL = json_build_object('node', array_to_string(v_unknown, ', '));
    END IF;
    RETURN v_found;
END
$$;

--
-- Name: node_allocation_choose(public.node_allocations, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_choose(p_wanted public.node_allocations, p_unit integer) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_named bigint := (SELECT node.id FROM nodes AS node WHERE node.name = p_wanted.name);
    v_few bigint[] := node_allocation_few(p_wanted);
    v_last bigint := node_allocation_last(p_wanted.resource_class);
    v_first bigint := (node_allocation_page(p_wanted.resource_class, 0, v_last))[1];
    v_before bigint := v_first - 1 + floor(random() * (v_last - v_first + 1))::bigint;
    v_ends text[] := '{}'::text[];
BEGIN
    IF v_named IS NOT NULL THEN
        v_ends := v_ends || node_allocation_try(p_wanted, p_unit, ARRAY[v_named], 0, v_named, false);
    END IF;
    IF v_few IS NOT NULL THEN
        v_before := v_few[1 + floor(random() * cardinality(v_few))::int] - 1;
        v_last := 9223372036854775807;
    END IF;
    IF NOT v_ends && '{done}' AND v_before IS NOT NULL THEN
        v_ends := v_ends || node_allocation_try(p_wanted, p_unit, v_few, v_before, v_last, false);
    END IF;
    IF NOT v_ends && '{done}' AND v_before IS NOT NULL THEN
        v_ends := v_ends || node_allocation_try(p_wanted, p_unit, v_few, 0, v_before, false);
    END IF;
    -- Somebody may have let go what was held.
    IF NOT v_ends && '{done}' AND v_ends && '{held}' THEN
        v_ends := v_ends || node_allocation_try(p_wanted, p_unit, v_few, 0, v_last, true);
    END IF;
    RETURN v_ends && '{done}';
END
$$;

--
-- Name: node_allocation_create(uuid, text, text, text[], uuid[], text[], jsonb, text, text, boolean, uuid, text, boolean, boolean, uuid, integer, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_create(p_uuid uuid, p_name text, p_class text, p_traits text[], p_candidate_uuids uuid[], p_candidate_names text[], p_extra jsonb, p_owner text, p_conductor text, p_backfill boolean, p_node_uuid uuid, p_node_name text, p_extended boolean, p_sticky boolean, p_batch uuid, p_minimum integer, p_quiet boolean) RETURNS SETOF public.node_allocations
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_candidates uuid[] := node_allocation_candidates(p_candidate_uuids, p_candidate_names);
    v_node nodes;
    v_uuid uuid := p_uuid;
    v_made node_allocations;
BEGIN
    IF p_backfill THEN
        IF (SELECT backend.placement FROM baremetal_backend AS backend) THEN
            PERFORM node_provider_references(p_owner);
        END IF;
        SELECT node.* INTO v_node FROM nodes AS node WHERE node.uuid = p_node_uuid OR node.name = p_node_name FOR UPDATE;
        PERFORM node_allocation_backfill(v_node, coalesce(p_node_uuid::text, p_node_name), p_uuid, p_class, p_traits, v_candidates);
        v_uuid := coalesce(p_uuid, v_node.instance_uuid);
    END IF;
    v_uuid := coalesce(v_uuid, gen_random_uuid());
    IF EXISTS (SELECT FROM nodes AS node WHERE node.instance_uuid = v_uuid AND node.id IS DISTINCT FROM v_node.id) THEN
        RAISE EXCEPTION 'instance % has a node already', v_uuid USING ERRCODE = 'PL042',
            DETAIL = json_build_object('allocation', v_uuid, 'instance', v_uuid,
                'node', (SELECT node.uuid FROM nodes AS node WHERE node.instance_uuid = v_uuid));
    END IF;

    INSERT INTO node_allocations (uuid, name, resource_class, traits, candidate_nodes, extra, owner,
        extended, sticky, batch_uuid, batch_minimum, conductor_id)
    VALUES (v_uuid, p_name, coalesce(p_class, v_node.resource_class, ''), p_traits, v_candidates, p_extra, p_owner,
        p_extended, p_sticky, p_batch, p_minimum, CASE WHEN NOT p_backfill THEN (SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor) END)
    RETURNING * INTO v_made;
    IF p_backfill THEN
        IF (SELECT backend.placement FROM baremetal_backend AS backend) THEN
            PERFORM node_provider_claim(v_made, v_node.id, true);
        END IF;
        PERFORM node_allocation_give(v_made, v_node.id);
    ELSIF NOT p_quiet THEN
        PERFORM pg_notify('berth_allocations', v_uuid::text);
    END IF;
    RETURN QUERY SELECT made.* FROM node_allocations AS made WHERE made.id = v_made.id;
END
$$;

--
-- Name: node_allocation_decide(public.node_allocations, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_decide(p_wanted public.node_allocations, p_unit integer) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_constraint text;
BEGIN
    IF node_allocation_choose(p_wanted, p_unit) THEN
        RETURN NULL;
    END IF;
    RETURN node_allocation_reason(p_wanted, p_unit, p_wanted.extended);
EXCEPTION
    WHEN SQLSTATE 'PL050' THEN
        RETURN format('Consumer %s has allocations in Placement already', p_wanted.uuid);
    WHEN unique_violation THEN
        GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
        IF v_constraint <> 'nodes_instance_uuid_key' THEN
            RAISE;
        END IF;
        RETURN format('Unexpected exception during allocation: Instance %s is already associated with a node', p_wanted.uuid);
END
$$;

--
-- Name: node_allocation_delete(uuid, text, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_delete(p_uuid uuid, p_name text, p_of_node boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_ident text := coalesce(p_uuid::text, p_name);
    v_found node_allocations;
    v_held node_allocations;
    v_node nodes;
    v_rule text;
BEGIN
    IF p_of_node THEN
        SELECT node.* INTO v_node FROM nodes AS node WHERE node.uuid = p_uuid OR node.name = p_name FOR UPDATE;
        SELECT allocation.* INTO v_found FROM node_allocations AS allocation WHERE allocation.node_id = v_node.id;
    ELSE
        SELECT allocation.* INTO v_found FROM node_allocations AS allocation
        WHERE allocation.uuid = p_uuid OR allocation.name = p_name;
        SELECT node.* INTO v_node FROM nodes AS node WHERE node.id = v_found.node_id FOR UPDATE;
    END IF;
    SELECT allocation.* INTO v_held FROM node_allocations AS allocation WHERE allocation.id = v_found.id FOR UPDATE;
    IF v_held.node_id IS DISTINCT FROM v_found.node_id AND v_held.id IS NOT NULL THEN
        RAISE EXCEPTION 'allocation % has got a node', v_held.uuid USING ERRCODE = '40001';
    END IF;
    v_rule := CASE
        WHEN p_of_node AND v_node.id IS NULL THEN 'PL030'
        WHEN v_held.id IS NULL THEN 'PL041'
        WHEN v_node.maintenance THEN NULL
        WHEN v_node.provision_state = 'active' THEN 'PL044'
        WHEN v_node.target_provision_state IS NOT NULL AND v_node.provision_state NOT IN (
            'deploy failed', 'inspecting', 'inspect failed', 'inspect wait', 'clean failed', 'error', 'verifying',
            'adopt failed', 'rescue failed', 'unrescue failed') THEN 'PL045'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'allocation % cannot be deleted', v_ident USING ERRCODE = v_rule,
            DETAIL = json_build_object('allocation', coalesce(v_held.uuid::text, CASE WHEN NOT p_of_node THEN v_ident END),
                'node', coalesce(v_node.uuid::text, CASE WHEN p_of_node THEN v_ident END),
                'state', CASE WHEN v_rule <> 'PL041' THEN v_node.provision_state END);
    END IF;

    -- Somebody may wait for it to be decided.
    IF v_held.extended AND v_held.state = 'allocating' THEN
        PERFORM pg_notify('berth_decisions', v_held.uuid::text);
    END IF;
    IF v_node.id IS NULL THEN
        DELETE FROM node_allocations WHERE id = v_held.id;
        RETURN;
    END IF;
    PERFORM node_allocation_release(v_node.id);
    UPDATE nodes SET instance_uuid = NULL, revision = revision + 1, updated_at = now() WHERE id = v_node.id;
END
$$;

--
-- Name: node_allocation_fail(public.node_allocations, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_fail(p_wanted public.node_allocations, p_reason text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE node_allocations SET state = 'error', conductor_id = NULL, revision = revision + 1, updated_at = now(),
        last_error = format('Failed to process allocation %s: %s.', p_wanted.uuid, p_reason)
    WHERE id = p_wanted.id AND state = 'allocating' AND conductor_id = p_wanted.conductor_id;
    IF p_wanted.extended THEN
        PERFORM pg_notify('berth_decisions', p_wanted.uuid::text);
    END IF;
END
$$;

--
-- Name: node_allocation_few(public.node_allocations); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_few(p_wanted public.node_allocations) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_trait text;
    v_nodes bigint[];
    v_few bigint[];
BEGIN
    IF cardinality(p_wanted.candidate_nodes) > 0 THEN
        RETURN ARRAY(SELECT node.id FROM nodes AS node WHERE node.uuid = ANY (p_wanted.candidate_nodes) ORDER BY node.id);
    END IF;
    FOREACH v_trait IN ARRAY node_allocation_plain(p_wanted.traits) LOOP
        v_nodes := ARRAY(
            SELECT present.node_id FROM node_traits AS present WHERE present.trait = v_trait
            ORDER BY present.trait, present.node_id LIMIT 257);
        IF cardinality(v_nodes) < least(cardinality(v_few), 257) THEN
            v_few := v_nodes;
        END IF;
    END LOOP;
    RETURN v_few;
END
$$;

--
-- Name: node_allocation_fits(public.node_allocations, integer, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_fits(p_wanted public.node_allocations, p_unit integer, p_nodes bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_plain text[] := node_allocation_plain(p_wanted.traits);
    v_traits bigint := (SELECT count(DISTINCT wanted.trait) FROM unnest(v_plain) AS wanted (trait));
    v_others bool := cardinality(v_plain) < cardinality(p_wanted.traits);
BEGIN
    RETURN ARRAY(
        SELECT node.id FROM nodes AS node
        WHERE node.id = ANY (p_nodes) AND node.resource_class = p_wanted.resource_class
          AND node.provision_state = 'available' AND node.instance_uuid IS NULL
          AND NOT node.maintenance AND node.power_state IS NOT NULL
          AND (p_wanted.candidate_nodes = '{}' OR node.uuid = ANY (p_wanted.candidate_nodes))
          AND (p_wanted.owner IS NULL OR node.owner = p_wanted.owner OR node.lessee = p_wanted.owner)
          AND (v_traits = 0 OR v_traits = (
                SELECT count(*) FROM node_traits AS present
                WHERE present.node_id = node.id AND present.trait = ANY (v_plain)))
          AND (NOT v_others OR node_allocation_lacking(node.id, p_wanted.traits) = '{}')
          AND (p_unit IS NULL OR 1 <= (
                SELECT unit.free FROM inventories AS unit
                WHERE unit.class_id = p_unit AND unit.provider_id = (
                    SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = node.uuid)))
        ORDER BY node.id);
END
$$;

--
-- Name: node_allocation_give(public.node_allocations, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_give(p_allocation public.node_allocations, p_node bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE nodes AS node SET
        instance_uuid = p_allocation.uuid,
        details = node.details || jsonb_build_object('instance_info',
            CASE WHEN jsonb_typeof(node.details -> 'instance_info') = 'object' THEN node.details -> 'instance_info' ELSE '{}' END
            || jsonb_build_object('traits', node_allocation_plain(p_allocation.traits))),
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = p_node;
    UPDATE node_allocations SET node_id = p_node, state = 'active', conductor_id = NULL, last_error = NULL,
        revision = revision + 1, updated_at = now()
    WHERE id = p_allocation.id;
END
$$;

--
-- Name: node_allocation_lacking(bigint, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_lacking(p_node bigint, p_traits text[]) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT wanted.trait FROM unnest(p_traits) AS wanted (trait)
        WHERE (wanted.trait LIKE '!%') = EXISTS (
            SELECT FROM node_traits AS present
            WHERE present.node_id = p_node
              AND present.trait = ANY (string_to_array(regexp_replace(wanted.trait, '^(!|in:)', ''), ',')))
        ORDER BY wanted.trait);
END
$$;

--
-- Name: node_allocation_last(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_last(p_class text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN (
        SELECT node.id FROM nodes AS node
        WHERE (node.resource_class, node.id) > (p_class, 0) AND (node.resource_class, node.id) <= (p_class, 9223372036854775807)
          AND node.provision_state = 'available' AND node.instance_uuid IS NULL
          AND NOT node.maintenance AND node.power_state IS NOT NULL
        ORDER BY node.resource_class DESC, node.id DESC
        LIMIT 1);
END
$$;

--
-- Name: node_allocation_page(text, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_page(p_class text, p_after bigint, p_to bigint) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT node.id FROM nodes AS node
        WHERE (node.resource_class, node.id) > (p_class, p_after) AND (node.resource_class, node.id) <= (p_class, p_to)
          AND node.provision_state = 'available' AND node.instance_uuid IS NULL
          AND NOT node.maintenance AND node.power_state IS NOT NULL
        ORDER BY node.resource_class, node.id
        LIMIT 16);
END
$$;

--
-- Name: node_allocation_plain(text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_plain(p_traits text[]) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT wanted.trait FROM unnest(p_traits) WITH ORDINALITY AS wanted (trait, place)
        WHERE wanted.trait NOT LIKE '!%' AND wanted.trait NOT LIKE 'in:%'
        ORDER BY wanted.place);
END
$$;

--
-- Name: node_allocation_process(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_process(p_uuid uuid, p_conductor text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_wanted node_allocations;
    v_unit int;
    v_reason text;
BEGIN
    SELECT allocation.* INTO v_wanted FROM node_allocations AS allocation
    WHERE allocation.uuid = p_uuid AND allocation.state = 'allocating' AND allocation.conductor_id = (
        SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor);
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_unit := node_provider_unit(v_wanted.resource_class);
    IF v_unit IS NOT NULL THEN
        PERFORM node_provider_references(v_wanted.owner);
    END IF;
    IF v_wanted.batch_uuid IS NOT NULL THEN
        PERFORM node_allocation_batch(v_wanted, v_unit);
        RETURN;
    END IF;
    v_reason := node_allocation_decide(v_wanted, v_unit);
    IF v_reason IS NOT NULL THEN
        PERFORM node_allocation_fail(v_wanted, v_reason);
    ELSIF v_wanted.extended THEN
        PERFORM pg_notify('berth_decisions', p_uuid::text);
    END IF;
END
$$;

--
-- Name: node_allocation_reason(public.node_allocations, integer, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_reason(p_wanted public.node_allocations, p_unit integer, p_detailed boolean) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_any node_allocations := p_wanted;
    v_free bigint[] := ARRAY(
        SELECT node.id FROM nodes AS node
        WHERE node.resource_class = p_wanted.resource_class AND node.provision_state = 'available'
          AND node.instance_uuid IS NULL AND NOT node.maintenance AND node.power_state IS NOT NULL);
    v_allowed bigint[];
    v_fitting bigint[];
    v_reason text;
BEGIN
    v_any.traits := '{}';
    v_allowed := node_allocation_fits(v_any, NULL, v_free);
    v_fitting := node_allocation_fits(p_wanted, NULL, v_allowed);
    v_reason := CASE
        WHEN v_allowed = '{}' AND p_wanted.candidate_nodes = '{}' THEN
            format('no available nodes match the resource class %s', p_wanted.resource_class)
        WHEN v_allowed = '{}' THEN
            format('none of the requested nodes are available and match the resource class %s', p_wanted.resource_class)
        WHEN v_fitting = '{}' THEN
            format('no suitable nodes have the requested traits %s', array_to_string(p_wanted.traits, ', '))
        WHEN node_allocation_fits(p_wanted, p_unit, v_fitting) = '{}' THEN
            format('could not reserve any of %s suitable nodes', cardinality(v_fitting))
        ELSE 'all nodes were filtered out during reservation'
    END;
    IF NOT p_detailed THEN
        RETURN v_reason;
    END IF;
    RETURN format('%s (nodes of the class: %s; available, powered, without instance and maintenance: %s; '
        'of these allowed by owner and candidates: %s; with the traits: %s; not claimed through Placement: %s)',
        v_reason, (SELECT count(*) FROM nodes AS node WHERE node.resource_class = p_wanted.resource_class),
        cardinality(v_free), cardinality(v_allowed), cardinality(v_fitting),
        cardinality(node_allocation_fits(p_wanted, p_unit, v_fitting)));
END
$$;

--
-- Name: node_allocation_release(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_release(p_node bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held node_allocations;
BEGIN
    SELECT allocation.* INTO v_held FROM node_allocations AS allocation WHERE allocation.node_id = p_node FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- Whether or not nodes are providers now: they may have been. A consumer that has
    -- nothing of this node only happens to have the uuid.
    IF EXISTS (
        SELECT FROM consumers AS consumer
        JOIN allocations AS taken ON taken.consumer_id = consumer.id
        JOIN resource_providers AS provider ON provider.id = taken.provider_id
        JOIN nodes AS node ON node.uuid = provider.uuid
        WHERE consumer.uuid = v_held.uuid AND node.id = p_node
    ) THEN
        PERFORM allocation_delete(v_held.uuid);
    END IF;
    DELETE FROM node_allocations WHERE id = v_held.id;
END
$$;

--
-- Name: node_allocation_retry(uuid, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_retry(p_uuid uuid, p_name text, p_conductor text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held node_allocations;
BEGIN
    SELECT allocation.* INTO v_held FROM node_allocations AS allocation
    WHERE allocation.uuid = p_uuid OR allocation.name = p_name
    FOR UPDATE;
    IF v_held.state IS DISTINCT FROM 'error' THEN
        RAISE EXCEPTION 'allocation % cannot be retried', coalesce(p_uuid::text, p_name)
            USING ERRCODE = CASE WHEN v_held.id IS NULL THEN 'PL041' ELSE 'PL052' END,
            DETAIL = json_build_object('allocation', coalesce(v_held.uuid::text, p_uuid::text, p_name), 'state', v_held.state);
    END IF;
    UPDATE node_allocations SET state = 'allocating', last_error = NULL, extended = true, batch_uuid = NULL, batch_minimum = NULL,
        conductor_id = (SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor),
        revision = revision + 1, updated_at = now()
    WHERE id = v_held.id;
    PERFORM pg_notify('berth_allocations', v_held.uuid::text);
END
$$;

--
-- Name: node_allocation_take(public.node_allocations, integer, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_take(p_wanted public.node_allocations, p_unit integer, p_node bigint, p_wait boolean) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_wait THEN
        PERFORM FROM nodes AS node WHERE node.id = p_node FOR UPDATE;
    ELSE
        PERFORM FROM nodes AS node WHERE node.id = p_node FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END IF;
    IF (SELECT backend.placement FROM baremetal_backend AS backend) <> (p_unit IS NOT NULL) THEN
        RAISE EXCEPTION 'the backend was changed' USING ERRCODE = '40001';
    END IF;
    IF node_allocation_fits(p_wanted, p_unit, ARRAY[p_node]) = '{}' THEN
        RAISE no_data_found;
    END IF;
    PERFORM FROM node_allocations AS allocation
    WHERE allocation.id = p_wanted.id AND allocation.state = 'allocating' AND allocation.conductor_id = p_wanted.conductor_id
    FOR UPDATE;
    IF FOUND THEN
        IF p_unit IS NOT NULL THEN
            PERFORM node_provider_claim(p_wanted, p_node, false);
        END IF;
        PERFORM node_allocation_give(p_wanted, p_node);
    END IF;
    RETURN true;
END
$$;

--
-- Name: node_allocation_try(public.node_allocations, integer, bigint[], bigint, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_try(p_wanted public.node_allocations, p_unit integer, p_few bigint[], p_after bigint, p_to bigint, p_wait boolean) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_after bigint := p_after;
    v_page bigint[];
    v_node bigint;
    v_end text := 'none';
BEGIN
    LOOP
        IF p_few IS NOT NULL THEN
            v_page := ARRAY(SELECT few.id FROM unnest(p_few) AS few (id) WHERE few.id > p_after AND few.id <= p_to);
        ELSE
            v_page := node_allocation_page(p_wanted.resource_class, v_after, p_to);
        END IF;
        FOREACH v_node IN ARRAY node_allocation_fits(p_wanted, p_unit, v_page) LOOP
            BEGIN
                IF node_allocation_take(p_wanted, p_unit, v_node, p_wait) THEN
                    RETURN 'done';
                END IF;
                v_end := 'held';
            EXCEPTION
                WHEN no_data_found OR SQLSTATE 'PL009' OR SQLSTATE 'PL010' OR SQLSTATE 'PL012' THEN NULL;
            END;
        END LOOP;
        EXIT WHEN p_few IS NOT NULL OR cardinality(v_page) < 16;
        v_after := v_page[16];
    END LOOP;
    RETURN v_end;
END
$$;

--
-- Name: node_allocation_update(bigint, bigint, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_allocation_update(p_id bigint, p_revision bigint, p_name text, p_extra jsonb) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_revision bigint;
BEGIN
    SELECT held.revision INTO v_revision FROM node_allocations AS held WHERE held.id = p_id FOR UPDATE;
    IF v_revision IS DISTINCT FROM p_revision THEN
        RAISE EXCEPTION 'allocation % was changed', p_id
            USING ERRCODE = CASE WHEN v_revision IS NULL THEN 'PL041' ELSE 'PL051' END,
            DETAIL = json_build_object('actual', v_revision, 'given', p_revision);
    END IF;
    UPDATE node_allocations SET name = p_name, extra = p_extra, revision = revision + 1, updated_at = now()
    WHERE id = p_id;
    RETURN now();
END
$$;

--
-- Name: node_create(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_create(p_node jsonb) RETURNS SETOF public.nodes
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    INSERT INTO nodes (
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
-- Name: node_delete(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_delete(p_uuid uuid, p_name text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held nodes;
    v_rule text;
BEGIN
    -- At once, and not first FOR NO KEY UPDATE: whoever adds a port holds it FOR KEY SHARE.
    SELECT node.* INTO v_held FROM nodes AS node WHERE node.uuid = p_uuid OR node.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_held.id IS NULL THEN 'PL030'
        WHEN v_held.instance_uuid IS NOT NULL AND NOT v_held.maintenance THEN 'PL032'
        WHEN v_held.protected THEN 'PL035'
        WHEN v_held.provision_state NOT IN ('enroll', 'manageable', 'adopt failed', 'available')
            AND NOT v_held.maintenance THEN 'PL034'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'node % cannot be deleted', coalesce(p_uuid::text, p_name) USING ERRCODE = v_rule,
            DETAIL = json_build_object('node', coalesce(v_held.uuid::text, p_uuid::text, p_name),
                'instance', v_held.instance_uuid, 'state', v_held.provision_state);
    END IF;

    PERFORM node_allocation_release(v_held.id);
    DELETE FROM nodes WHERE id = v_held.id;
END
$$;

--
-- Name: node_lock(uuid, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_lock(p_uuid uuid, p_name text) RETURNS public.nodes
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held nodes;
BEGIN
    SELECT node.* INTO v_held FROM nodes AS node
    WHERE node.uuid = p_uuid OR node.name = p_name
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no node %', coalesce(p_uuid::text, p_name) USING ERRCODE = 'PL030',
            DETAIL = json_build_object('node', coalesce(p_uuid::text, p_name));
    END IF;
    RETURN v_held;
END
$$;

--
-- Name: node_move(uuid, text, text[], bigint, text, text, text, text, text, boolean, text, text, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_move(p_uuid uuid, p_name text, p_from text[], p_revision bigint, p_holder text, p_to text, p_target text, p_conductor text, p_last_error text, p_set_power boolean, p_power_state text, p_target_power_state text, p_tear_down boolean) RETURNS SETOF public.nodes
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held nodes := node_lock(p_uuid, p_name);
    v_conductor int;
    v_kept node_allocations;
    v_target_power text := CASE WHEN p_set_power THEN p_target_power_state ELSE v_held.target_power_state END;
BEGIN
    IF v_held.provision_state <> ALL (p_from) OR v_held.revision <> p_revision
       OR (p_holder IS NOT NULL AND v_held.conductor_id IS DISTINCT FROM (
            SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_holder)) THEN
        RETURN;
    END IF;
    IF p_conductor IS NOT NULL THEN
        SELECT conductor.id INTO v_conductor FROM conductors AS conductor WHERE conductor.hostname = p_conductor;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no conductor %', p_conductor USING ERRCODE = 'PL040',
                DETAIL = json_build_object('conductor', p_conductor, 'node', v_held.uuid);
        END IF;
    END IF;

    -- First, since the update may lock the node's provider, and consumers come before.
    IF p_tear_down THEN
        SELECT allocation.* INTO v_kept FROM node_allocations AS allocation
        WHERE allocation.node_id = v_held.id AND allocation.sticky;
        IF NOT FOUND THEN
            PERFORM node_allocation_release(v_held.id);
        END IF;
    END IF;
    RETURN QUERY
    UPDATE nodes AS node SET
        provision_state = p_to, target_provision_state = p_target,
        provision_updated_at = CASE WHEN p_to = node.provision_state THEN node.provision_updated_at ELSE now() END,
        conductor_id = v_conductor, last_error = p_last_error,
        power_state = CASE WHEN p_set_power THEN p_power_state ELSE node.power_state END,
        target_power_state = v_target_power,
        instance_uuid = CASE WHEN NOT p_tear_down OR v_kept.id IS NOT NULL THEN node.instance_uuid END,
        details = CASE
            WHEN v_kept.id IS NOT NULL THEN node.details
                || jsonb_build_object('instance_info', jsonb_build_object('traits', node_allocation_plain(v_kept.traits)))
            WHEN p_tear_down THEN node.details || '{"instance_info": {}}'
            ELSE node.details END,
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = v_held.id
    RETURNING node.*;

    IF (p_target IS NOT NULL OR v_target_power IS NOT NULL)
       AND (v_conductor IS NULL OR (p_to, p_target, v_target_power) IS DISTINCT FROM
            (v_held.provision_state, v_held.target_provision_state, v_held.target_power_state)) THEN
        PERFORM pg_notify('berth_nodes', v_held.uuid::text);
    END IF;
END
$$;

--
-- Name: node_provider_backend(boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_backend(p_placement boolean) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_node bigint;
    v_allocation node_allocations;
BEGIN
    IF (SELECT backend.placement FROM baremetal_backend AS backend) = p_placement THEN
        RETURN;
    END IF;
    IF p_placement THEN
        PERFORM node_provider_references(owner.name)
        FROM (
            SELECT DISTINCT allocation.owner AS name FROM node_allocations AS allocation
            WHERE allocation.state = 'active' ORDER BY allocation.owner
        ) AS owner;
    END IF;
    LOCK TABLE nodes IN EXCLUSIVE MODE;
    UPDATE baremetal_backend SET placement = p_placement WHERE placement <> p_placement;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF NOT p_placement THEN
        PERFORM node_provider_retire();
        RETURN;
    END IF;
    FOR v_node IN SELECT node.id FROM nodes AS node ORDER BY node.id LOOP
        PERFORM node_provider_sync(v_node, false);
    END LOOP;
    FOR v_allocation IN
        SELECT allocation.* FROM node_allocations AS allocation
        WHERE allocation.state = 'active' ORDER BY allocation.node_id
    LOOP
        BEGIN
            PERFORM node_provider_claim(v_allocation, v_allocation.node_id, true);
        EXCEPTION
            WHEN SQLSTATE 'PL012' OR SQLSTATE 'PL050' THEN NULL;
        END;
    END LOOP;
END
$$;

--
-- Name: node_provider_claim(public.node_allocations, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_claim(p_allocation public.node_allocations, p_node bigint, p_in_use boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_node nodes;
    v_held record;
    v_named record;
BEGIN
    SELECT node.* INTO v_node FROM nodes AS node WHERE node.id = p_node;
    IF node_provider_class(v_node.resource_class) IS NULL THEN
        RETURN;  -- only nodes in use get this far without a class; they have no unit
    END IF;
    v_held := consumer_lock(ARRAY[p_allocation.uuid], ARRAY[node_provider_project(p_allocation.owner)],
        ARRAY[node_provider_project(NULL)], ARRAY['BAREMETAL'], ARRAY[true]);
    IF v_held.generations[1] >= 0 THEN
        IF p_in_use AND EXISTS (
            SELECT FROM allocations AS taken JOIN resource_providers AS provider ON provider.id = taken.provider_id
            WHERE taken.consumer_id = v_held.ids[1] AND provider.uuid = v_node.uuid
        ) THEN
            RETURN;
        END IF;
        RAISE EXCEPTION 'consumer % has allocations already', p_allocation.uuid USING ERRCODE = 'PL050',
            DETAIL = json_build_object('consumer', p_allocation.uuid, 'allocation', p_allocation.uuid, 'node', v_node.uuid);
    END IF;
    IF p_in_use THEN
        PERFORM node_provider_sync(p_node, true);
    END IF;
    v_named := allocation_resolve(ARRAY[v_node.uuid], ARRAY[node_provider_class(v_node.resource_class)]);
    PERFORM allocation_lock_providers('{}', v_named.providers);
    PERFORM allocation_apply(v_held.ids, v_held.generations, v_held.projects, v_held.users, v_held.types,
        '{1}', v_named.providers, v_named.classes, '{1}');
    IF p_in_use THEN
        PERFORM node_provider_sync(p_node, false);
    END IF;
END
$$;

--
-- Name: node_provider_class(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_class(p_class text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN 'CUSTOM_' || upper(regexp_replace(nullif(p_class, ''), '[^0-9A-Za-z]+', '_', 'g'));
END
$$;

--
-- Name: node_provider_follow(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_follow() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_class text;
BEGIN
    IF NOT (SELECT backend.placement FROM baremetal_backend AS backend) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM resource_providers AS provider WHERE provider.uuid = OLD.uuid) THEN
            PERFORM provider_delete(OLD.uuid);
        END IF;
        RETURN NULL;
    END IF;

    IF TG_OP = 'UPDATE' AND NEW.resource_class IS NOT DISTINCT FROM OLD.resource_class AND node_provider_reserve(NEW) THEN
        RETURN NULL;
    END IF;
    PERFORM node_provider_sync(NEW.id, false);
    IF TG_OP = 'UPDATE' AND node_provider_class(NEW.resource_class) IS DISTINCT FROM node_provider_class(OLD.resource_class) THEN
        SELECT class.name INTO v_class
        FROM resource_providers AS provider
        JOIN allocations AS taken ON taken.provider_id = provider.id
        JOIN resource_classes AS class ON class.id = taken.class_id
        JOIN consumers AS consumer ON consumer.id = taken.consumer_id
        WHERE provider.uuid = NEW.uuid AND class.name IS DISTINCT FROM node_provider_class(NEW.resource_class)
          AND NOT EXISTS (
            SELECT FROM node_allocations AS own WHERE own.node_id = NEW.id AND own.uuid = consumer.uuid)
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'the % of node % is claimed', v_class, NEW.uuid USING ERRCODE = 'PL005',
                DETAIL = json_build_object('node', NEW.uuid, 'provider', NEW.uuid, 'class', v_class);
        END IF;
    END IF;
    RETURN NULL;
END
$$;

--
-- Name: node_provider_follow_traits(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_follow_traits() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (SELECT backend.placement FROM baremetal_backend AS backend) THEN
        PERFORM node_provider_sync(node.id, false)
        FROM (SELECT DISTINCT changed.node_id AS id FROM changed ORDER BY changed.node_id) AS node;
    END IF;
    RETURN NULL;
END
$$;

--
-- Name: node_provider_offered(public.nodes); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_offered(p_node public.nodes) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT coalesce(p_node.provision_state = 'available' AND p_node.instance_uuid IS NULL AND NOT p_node.maintenance
        AND p_node.power_state <> 'error', false)
$$;

--
-- Name: node_provider_project(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_project(p_owner text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN coalesce(nullif(p_owner, ''), '00000000-0000-0000-0000-000000000000');
END
$$;

--
-- Name: node_provider_references(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_references(p_owner text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM consumer_references(ARRAY[node_provider_project(p_owner)], ARRAY[node_provider_project(NULL)], ARRAY['BAREMETAL']);
END
$$;

--
-- Name: node_provider_reserve(public.nodes); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_reserve(p_node public.nodes) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_class text := node_provider_class(p_node.resource_class);
    v_reserved int := CASE WHEN node_provider_offered(p_node) THEN 0 ELSE 1 END;
    v_provider bigint;
    v_class_id int;
    v_found int;
BEGIN
    SELECT unit.provider_id, unit.class_id INTO v_provider, v_class_id
    FROM resource_providers AS provider
    JOIN inventories AS unit ON unit.provider_id = provider.id
    JOIN resource_classes AS class ON class.id = unit.class_id
    WHERE provider.uuid = p_node.uuid AND class.name = v_class AND unit.total = 1
      AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1;
    IF NOT FOUND OR (SELECT count(*) FROM inventories AS other WHERE other.provider_id = v_provider) > 1 THEN
        RETURN false;
    END IF;
    PERFORM FROM provider_generations AS held WHERE held.provider_id = v_provider FOR NO KEY UPDATE;

    SELECT unit.reserved INTO v_found FROM inventories AS unit
    WHERE unit.provider_id = v_provider AND unit.class_id = v_class_id AND unit.total = 1
      AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1
      AND NOT EXISTS (
        SELECT FROM inventories AS other WHERE other.provider_id = v_provider AND other.class_id <> v_class_id);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the provider of node % was changed', p_node.uuid USING ERRCODE = '40001';
    END IF;
    IF v_found <> v_reserved THEN
        UPDATE inventories SET reserved = v_reserved, updated_at = now()
        WHERE provider_id = v_provider AND class_id = v_class_id;
        PERFORM bump_provider(v_provider);
    END IF;
    RETURN true;
END
$$;

--
-- Name: node_provider_retire(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_retire() RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_providers bigint[] := ARRAY(
        SELECT provider.id FROM resource_providers AS provider JOIN nodes AS node ON node.uuid = provider.uuid
        ORDER BY provider.id);
BEGIN
    PERFORM allocation_lock_providers('{}', v_providers);
    WITH changed AS (
        UPDATE inventories SET reserved = total, updated_at = now()
        WHERE provider_id = ANY (v_providers) AND reserved < total
        RETURNING provider_id
    )
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id IN (SELECT changed.provider_id FROM changed);
END
$$;

--
-- Name: node_provider_sync(bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_sync(p_node bigint, p_lend boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_node nodes;
    v_traits text[];
    v_held record;
BEGIN
    SELECT node.* INTO v_node FROM nodes AS node WHERE node.id = p_node;
    IF NOT FOUND OR NOT (SELECT backend.placement FROM baremetal_backend AS backend) THEN
        RETURN;
    END IF;
    INSERT INTO resource_classes (name)
    SELECT wanted.name FROM node_provider_class(v_node.resource_class) AS wanted (name)
    WHERE wanted.name IS NOT NULL
      AND NOT EXISTS (SELECT FROM resource_classes AS class WHERE class.name = wanted.name)
    ON CONFLICT DO NOTHING;
    v_traits := ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = p_node ORDER BY present.trait);
    INSERT INTO traits (name)
    SELECT wanted.name FROM unnest(v_traits) AS wanted (name)
    WHERE NOT EXISTS (SELECT FROM traits AS trait WHERE trait.name = wanted.name)
    ORDER BY wanted.name
    ON CONFLICT DO NOTHING;

    IF NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.uuid = v_node.uuid) THEN
        PERFORM provider_create(v_node.uuid, v_node.uuid::text, NULL);
    END IF;
    v_held := lock_provider(v_node.uuid, NULL, true, true);
    -- Asked first, since a write of nothing costs as much as one of something, and traits
    -- rarely change when a node is given away.
    IF v_traits <> ARRAY(
        SELECT (SELECT trait.name FROM traits AS trait WHERE trait.id = present.trait_id) AS name
        FROM provider_traits AS present WHERE present.provider_id = v_held.provider_id ORDER BY name
    ) THEN
        PERFORM provider_traits_replace(v_node.uuid, NULL, v_traits);
    END IF;
    IF node_provider_write(v_node, v_held.provider_id, v_held.root_id, p_lend) THEN
        PERFORM bump_provider(v_held.provider_id);
    END IF;
END
$$;

--
-- Name: node_provider_unit(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_unit(p_class text) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_class text := node_provider_class(p_class);  -- once, and not for each class that is compared
BEGIN
    IF NOT (SELECT backend.placement FROM baremetal_backend AS backend) THEN
        RETURN NULL;
    END IF;
    RETURN coalesce((SELECT class.id FROM resource_classes AS class WHERE class.name = v_class), -1);
END
$$;

--
-- Name: node_provider_write(public.nodes, bigint, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_provider_write(p_node public.nodes, p_provider bigint, p_root bigint, p_lend boolean) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_class text := node_provider_class(p_node.resource_class);
    v_class_id int := (SELECT class.id FROM resource_classes AS class WHERE class.name = v_class);
    v_reserved int := 1;
    v_changes bigint;
    v_more bigint;
BEGIN
    DELETE FROM inventories AS other
    WHERE other.provider_id = p_provider AND other.class_id IS DISTINCT FROM v_class_id AND other.used = 0;
    GET DIAGNOSTICS v_changes = ROW_COUNT;
    UPDATE inventories AS other SET reserved = other.total, updated_at = now()
    WHERE other.provider_id = p_provider AND other.class_id IS DISTINCT FROM v_class_id AND other.reserved < other.total;
    GET DIAGNOSTICS v_more = ROW_COUNT;
    v_changes := v_changes + v_more;
    IF v_class IS NULL THEN
        RETURN v_changes > 0;
    END IF;

    IF p_lend OR node_provider_offered(p_node) AND NOT EXISTS (
            SELECT FROM inventories AS other WHERE other.provider_id = p_provider AND other.class_id <> v_class_id) THEN
        v_reserved := 0;
    END IF;
    IF NOT EXISTS (
        SELECT FROM inventories AS unit
        WHERE unit.provider_id = p_provider AND unit.class_id = v_class_id AND unit.total = 1 AND unit.reserved = v_reserved
          AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1
    ) THEN
        PERFORM inventory_write(p_provider, p_root, jsonb_build_array(jsonb_build_object(
            'class', v_class, 'total', 1, 'reserved', v_reserved,
            'min_unit', 1, 'max_unit', 1, 'step_size', 1, 'allocation_ratio', 1.0)));
        v_changes := v_changes + 1;
    END IF;
    RETURN v_changes > 0;
END
$$;

--
-- Name: node_trait_add(uuid, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_trait_add(p_uuid uuid, p_name text, p_trait text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held nodes := node_lock(p_uuid, p_name);
BEGIN
    INSERT INTO node_traits (node_id, trait) VALUES (v_held.id, p_trait) ON CONFLICT DO NOTHING;
    PERFORM node_traits_check(v_held.id, v_held.uuid);
END
$$;

--
-- Name: node_trait_delete(uuid, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_trait_delete(p_uuid uuid, p_name text, p_trait text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held nodes := node_lock(p_uuid, p_name);
BEGIN
    DELETE FROM node_traits AS present WHERE present.node_id = v_held.id AND present.trait = p_trait;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'node % has no trait %', v_held.uuid, p_trait USING ERRCODE = 'PL037',
            DETAIL = json_build_object('node', v_held.uuid, 'traits', p_trait);
    END IF;
END
$$;

--
-- Name: node_traits_check(bigint, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_traits_check(p_node bigint, p_uuid uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (SELECT count(*) FROM node_traits AS present WHERE present.node_id = p_node) > 50 THEN
        RAISE EXCEPTION 'node % would have more than 50 traits', p_uuid USING ERRCODE = 'PL036',
            DETAIL = json_build_object('node', p_uuid);
    END IF;
END
$$;

--
-- Name: node_traits_replace(uuid, text, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_traits_replace(p_uuid uuid, p_name text, p_traits text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held nodes := node_lock(p_uuid, p_name);
BEGIN
    DELETE FROM node_traits AS present WHERE present.node_id = v_held.id AND present.trait <> ALL (p_traits);
    INSERT INTO node_traits (node_id, trait)
    SELECT DISTINCT v_held.id, wanted.trait FROM unnest(p_traits) AS wanted (trait)
    ON CONFLICT DO NOTHING;
    PERFORM node_traits_check(v_held.id, v_held.uuid);
END
$$;

--
-- Name: node_update(uuid, bigint, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.node_update(p_uuid uuid, p_revision bigint, p_node jsonb) RETURNS SETOF public.nodes
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held nodes := node_lock(p_uuid, NULL);
    v_given nodes := jsonb_populate_record(v_held, p_node);
    v_rule text;
BEGIN
    v_rule := CASE
        WHEN v_held.revision <> p_revision THEN 'PL031'
        WHEN v_given.instance_uuid <> v_held.instance_uuid THEN 'PL032'
        WHEN v_given.owner IS DISTINCT FROM v_held.owner AND EXISTS (
            SELECT FROM node_allocations AS allocation
            WHERE allocation.node_id = v_held.id AND allocation.owner IS NOT NULL) THEN 'PL033'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'node % cannot be changed so', p_uuid USING ERRCODE = v_rule, DETAIL = json_build_object(
            'node', p_uuid, 'instance', v_held.instance_uuid, 'actual', v_held.revision, 'given', p_revision);
    END IF;

    -- First, since the update may lock the node's provider, and consumers come before.
    IF v_held.instance_uuid IS NOT NULL AND v_given.instance_uuid IS NULL THEN
        PERFORM node_allocation_release(v_held.id);
    END IF;
    RETURN QUERY
    UPDATE nodes AS node SET
        name = v_given.name, driver = v_given.driver, resource_class = v_given.resource_class,
        provision_state = v_given.provision_state, target_provision_state = v_given.target_provision_state,
        provision_updated_at = CASE
            WHEN v_given.provision_state = v_held.provision_state THEN v_held.provision_updated_at ELSE now() END,
        power_state = v_given.power_state, target_power_state = v_given.target_power_state,
        maintenance = v_given.maintenance, maintenance_reason = v_given.maintenance_reason, fault = v_given.fault,
        instance_uuid = v_given.instance_uuid, owner = v_given.owner, lessee = v_given.lessee,
        protected = v_given.protected, retired = v_given.retired, conductor_group = v_given.conductor_group,
        last_error = v_given.last_error, details = v_given.details,
        revision = node.revision + 1, updated_at = now()
    WHERE node.id = v_held.id
    RETURNING node.*;
END
$$;

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

COMMENT ON TABLE public.ports IS 'Network cards of nodes.';

--
-- Name: port_create(uuid, uuid, text, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.port_create(p_uuid uuid, p_node uuid, p_address text, p_details jsonb) RETURNS SETOF public.ports
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_node bigint;
BEGIN
    SELECT node.id INTO v_node FROM nodes AS node WHERE node.uuid = p_node FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no node %', p_node USING ERRCODE = 'PL030', DETAIL = json_build_object('node', p_node);
    END IF;
    RETURN QUERY
    INSERT INTO ports (uuid, node_id, address, details) VALUES (p_uuid, v_node, p_address, p_details)
    RETURNING ports.*;
END
$$;

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
    SELECT node.id INTO v_node FROM nodes AS node WHERE node.uuid = p_node FOR KEY SHARE;
    SELECT port.revision INTO v_revision FROM ports AS port WHERE port.uuid = p_uuid FOR NO KEY UPDATE;
    v_rule := CASE
        WHEN v_revision IS NULL THEN 'PL038'
        WHEN v_node IS NULL THEN 'PL030'
        WHEN v_revision <> p_revision THEN 'PL039'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'port % cannot be changed so', p_uuid USING ERRCODE = v_rule,
            DETAIL = json_build_object('port', p_uuid, 'node', p_node, 'actual', v_revision, 'given', p_revision);
    END IF;
    RETURN QUERY
    UPDATE ports AS port SET
        node_id = v_node, address = p_address, details = p_details, revision = port.revision + 1, updated_at = now()
    WHERE port.uuid = p_uuid
    RETURNING port.*;
END
$$;

--
-- Name: provider_aggregates_copy(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_aggregates_copy() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_sharing int := (SELECT trait.id FROM traits AS trait WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE');
BEGIN
    UPDATE resource_providers AS provider
    SET aggregate_ids = ARRAY(
        SELECT member.aggregate_id FROM provider_aggregates AS member
        WHERE member.provider_id = provider.id ORDER BY member.aggregate_id)
    WHERE provider.id IN (SELECT changed.provider_id FROM changed);

    UPDATE provider_aggregates AS member
    SET sharing = true
    WHERE member.provider_id IN (SELECT changed.provider_id FROM changed) AND NOT member.sharing
      AND EXISTS (
        SELECT FROM provider_traits AS present
        WHERE present.provider_id = member.provider_id AND present.trait_id = v_sharing);
    RETURN NULL;
END
$$;

--
-- Name: provider_aggregates_replace(uuid, bigint, uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_aggregates_replace(p_provider uuid, p_generation bigint, p_aggregates uuid[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held record;
BEGIN
    INSERT INTO aggregates (uuid)
    SELECT DISTINCT wanted.uuid FROM unnest(p_aggregates) AS wanted (uuid)
    WHERE NOT EXISTS (SELECT FROM aggregates AS present WHERE present.uuid = wanted.uuid)
    ORDER BY wanted.uuid
    ON CONFLICT DO NOTHING;
    SELECT * INTO v_held FROM lock_provider(p_provider, p_generation, false, true);

    DELETE FROM provider_aggregates AS present USING aggregates AS aggregate
    WHERE present.provider_id = v_held.provider_id AND aggregate.id = present.aggregate_id
      AND aggregate.uuid <> ALL (p_aggregates);
    INSERT INTO provider_aggregates (provider_id, aggregate_id)
    SELECT v_held.provider_id, aggregate.id FROM aggregates AS aggregate
    WHERE aggregate.uuid = ANY (p_aggregates)
    ORDER BY aggregate.id
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN p_generation IS NULL THEN v_held.generation ELSE bump_provider(v_held.provider_id) END;
END
$$;

--
-- Name: provider_check_move(uuid, bigint, bigint, uuid, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_check_move(p_uuid uuid, p_provider_id bigint, p_old_parent_id bigint, p_parent uuid, p_parent_id bigint, p_may_reparent boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_rule text;
    v_loop bool;
BEGIN
    WITH RECURSIVE ancestors AS (
        SELECT provider.id, provider.parent_id FROM resource_providers AS provider WHERE provider.id = p_parent_id
        UNION  -- ends at the root, and where parents were put in a circle by hand
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
        RAISE EXCEPTION 'provider % cannot be moved below %', p_uuid, coalesce(p_parent::text, 'nothing')
            USING ERRCODE = v_rule, DETAIL = json_build_object('provider', p_uuid, 'parent', p_parent);
    END IF;
END
$$;

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
        SELECT parent.id INTO v_parent FROM resource_providers AS parent WHERE parent.uuid = p_parent;
        v_root := lock_root_shared(v_parent);
        PERFORM FROM resource_providers AS parent WHERE parent.id = v_parent FOR KEY SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no resource provider % to be the parent', p_parent USING ERRCODE = 'PL016',
                DETAIL = json_build_object('provider', p_uuid, 'parent', p_parent);
        END IF;
        SELECT root.uuid INTO v_root_uuid FROM resource_providers AS root WHERE root.id = v_root;
    END IF;

    v_id := nextval(pg_get_serial_sequence('resource_providers', 'id'));
    INSERT INTO resource_providers (id, uuid, name, parent_id, root_id) OVERRIDING SYSTEM VALUE
    VALUES (v_id, p_uuid, p_name, v_parent, coalesce(v_root, v_id));
    -- A new root counts as updated at once, a new child does not: clients see
    -- it in the last-modified header of their first rename.
    INSERT INTO provider_generations (provider_id, updated_at)
    VALUES (v_id, CASE WHEN v_parent IS NULL THEN now() END);
    RETURN v_root_uuid;
END
$$;

--
-- Name: provider_delete(uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_delete(p_uuid uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id bigint;
    v_rule text;
BEGIN
    SELECT provider.id INTO v_id FROM resource_providers AS provider WHERE provider.uuid = p_uuid;
    -- A root is locked for deletion at once: two deletions that both held it
    -- FOR SHARE would wait for each other.
    IF EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = v_id AND provider.parent_id IS NOT NULL) THEN
        PERFORM lock_root_shared(v_id);
    END IF;
    PERFORM FROM resource_providers AS provider WHERE provider.id = v_id FOR UPDATE;
    PERFORM FROM provider_generations AS held WHERE held.provider_id = v_id FOR UPDATE;

    v_rule := CASE
        WHEN NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.id = v_id) THEN 'PL001'
        WHEN EXISTS (SELECT FROM resource_providers AS child WHERE child.parent_id = v_id) THEN 'PL014'
        WHEN EXISTS (SELECT FROM allocations AS taken WHERE taken.provider_id = v_id) THEN 'PL015'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'provider % cannot be deleted', p_uuid USING ERRCODE = v_rule,
            DETAIL = json_build_object('provider', p_uuid);
    END IF;

    DELETE FROM inventories WHERE provider_id = v_id;
    DELETE FROM provider_traits WHERE provider_id = v_id;
    DELETE FROM provider_aggregates WHERE provider_id = v_id;
    DELETE FROM provider_generations WHERE provider_id = v_id;
    DELETE FROM resource_providers WHERE id = v_id;
END
$$;

--
-- Name: provider_lock_move(bigint, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_lock_move(p_provider_id bigint, p_parent uuid) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_roots bigint[];
    v_root bigint;
    v_moved bool := false;
    v_same_parent bool;
BEGIN
    SELECT coalesce(array_agg(DISTINCT either.root_id ORDER BY either.root_id), '{}'::bigint[]) INTO v_roots
    FROM resource_providers AS either
    WHERE either.id = p_provider_id OR either.uuid = p_parent;
    FOREACH v_root IN ARRAY v_roots LOOP
        SELECT root.root_id <> v_root INTO v_moved
        FROM resource_providers AS root WHERE root.id = v_root FOR NO KEY UPDATE;
        EXIT WHEN v_moved;  -- null if it is gone
    END LOOP;
    IF v_moved OR EXISTS (
        SELECT FROM resource_providers AS either
        WHERE (either.id = p_provider_id OR either.uuid = p_parent) AND either.root_id <> ALL (v_roots)
    ) THEN
        RAISE EXCEPTION 'the tree of provider % or % has been moved', p_provider_id, p_parent USING ERRCODE = '40001';
    END IF;
    SELECT parent.uuid IS NOT DISTINCT FROM p_parent INTO v_same_parent
    FROM resource_providers AS provider
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = p_provider_id;
    RETURN NOT v_same_parent;
END
$$;

--
-- Name: provider_move(bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_move(p_provider_id bigint, p_parent_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_root bigint := p_provider_id;
    v_subtree bigint[];
BEGIN
    IF p_parent_id IS NOT NULL THEN
        SELECT parent.root_id INTO v_root FROM resource_providers AS parent WHERE parent.id = p_parent_id;
    END IF;
    WITH RECURSIVE subtree AS (
        SELECT p_provider_id AS id
        UNION  -- ends at the leaves, and where parents were put in a circle by hand
        SELECT child.id FROM subtree AS above JOIN resource_providers AS child ON child.parent_id = above.id
    )
    SELECT array_agg(subtree.id ORDER BY subtree.id) INTO v_subtree FROM subtree;

    PERFORM FROM resource_providers AS provider
    WHERE provider.id = ANY (v_subtree) ORDER BY provider.id FOR NO KEY UPDATE;
    PERFORM FROM provider_generations AS held
    WHERE held.provider_id = ANY (v_subtree) ORDER BY held.provider_id FOR NO KEY UPDATE;
    UPDATE provider_generations AS held SET updated_at = now()
    FROM resource_providers AS below
    WHERE below.id = ANY (v_subtree) AND below.id <> p_provider_id AND below.root_id <> v_root
      AND held.provider_id = below.id;
    UPDATE resource_providers AS provider
    SET root_id = v_root,
        parent_id = CASE WHEN provider.id = p_provider_id THEN p_parent_id ELSE provider.parent_id END
    WHERE provider.id = ANY (v_subtree);
    UPDATE inventories SET root_id = v_root WHERE provider_id = ANY (v_subtree);
END
$$;

--
-- Name: provider_traits_copy(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_traits_copy() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_sharing int := (SELECT trait.id FROM traits AS trait WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE');
BEGIN
    UPDATE resource_providers AS provider
    SET trait_ids = ARRAY(
        SELECT present.trait_id FROM provider_traits AS present
        WHERE present.provider_id = provider.id ORDER BY present.trait_id)
    WHERE provider.id IN (SELECT changed.provider_id FROM changed);

    UPDATE provider_aggregates AS member
    SET sharing = NOT member.sharing
    WHERE member.provider_id IN (SELECT changed.provider_id FROM changed WHERE changed.trait_id = v_sharing)
      AND member.sharing <> EXISTS (
        SELECT FROM provider_traits AS present
        WHERE present.provider_id = member.provider_id AND present.trait_id = v_sharing);
    RETURN NULL;
END
$$;

--
-- Name: provider_traits_replace(uuid, bigint, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_traits_replace(p_provider uuid, p_generation bigint, p_names text[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held record;
    v_wanted int[];
    v_unknown text[];
    v_written bigint;
BEGIN
    SELECT * INTO v_held FROM lock_provider(p_provider, p_generation, false, true);
    SELECT array_agg(DISTINCT trait.id) FILTER (WHERE trait.id IS NOT NULL),
           array_agg(DISTINCT wanted.name) FILTER (WHERE trait.id IS NULL)
    INTO v_wanted, v_unknown
    FROM unnest(p_names) AS wanted (name) LEFT JOIN traits AS trait ON trait.name = wanted.name;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no traits %', v_unknown USING ERRCODE = 'PL013',
            DETAIL = json_build_object('traits', array_to_string(v_unknown, ', '));
    END IF;

    WITH gone AS (
        DELETE FROM provider_traits AS present
        WHERE present.provider_id = v_held.provider_id AND present.trait_id <> ALL (coalesce(v_wanted, '{}'))
        RETURNING present.trait_id
    ), come AS (
        INSERT INTO provider_traits (provider_id, trait_id)
        SELECT v_held.provider_id, wanted.id FROM unnest(v_wanted) AS wanted (id) ORDER BY wanted.id
        ON CONFLICT DO NOTHING
        RETURNING trait_id
    )
    SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM come) INTO v_written;
    RETURN CASE WHEN v_written > 0 THEN bump_provider(v_held.provider_id) ELSE v_held.generation END;
END
$$;

--
-- Name: provider_update(uuid, text, boolean, uuid, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.provider_update(p_uuid uuid, p_name text, p_set_parent boolean, p_parent uuid, p_may_reparent boolean, OUT generation bigint, OUT parent_uuid uuid, OUT root_uuid uuid, OUT updated_before timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id bigint;
    v_old_parent bigint;
    v_parent bigint;
    v_moves bool := false;
    v_renamed bool;
BEGIN
    SELECT provider.id INTO v_id FROM resource_providers AS provider WHERE provider.uuid = p_uuid;
    IF p_set_parent THEN
        v_moves := provider_lock_move(v_id, p_parent);
    END IF;

    SELECT provider.id, provider.parent_id INTO v_id, v_old_parent
    FROM resource_providers AS provider WHERE provider.uuid = p_uuid FOR NO KEY UPDATE;
    IF v_id IS NULL THEN
        RAISE EXCEPTION 'no resource provider %', p_uuid USING ERRCODE = 'PL001',
            DETAIL = json_build_object('provider', p_uuid);
    END IF;
    IF v_moves THEN
        SELECT parent.id INTO v_parent FROM resource_providers AS parent WHERE parent.uuid = p_parent;
        PERFORM provider_check_move(p_uuid, v_id, v_old_parent, p_parent, v_parent, p_may_reparent);
        PERFORM provider_move(v_id, v_parent);
    END IF;

    UPDATE resource_providers SET name = p_name WHERE id = v_id AND name <> p_name;
    v_renamed := FOUND;
    SELECT held.generation, held.updated_at INTO generation, updated_before
    FROM provider_generations AS held WHERE held.provider_id = v_id FOR NO KEY UPDATE;
    UPDATE provider_generations SET updated_at = now() WHERE provider_id = v_id AND (v_moves OR v_renamed);

    SELECT parent.uuid, root.uuid INTO parent_uuid, root_uuid
    FROM resource_providers AS provider
    JOIN resource_providers AS root ON root.id = provider.root_id
    LEFT JOIN resource_providers AS parent ON parent.id = provider.parent_id
    WHERE provider.id = v_id;
END
$$;

--
-- Name: reshape(jsonb, uuid[], text[], text[], text[], boolean, bigint[], boolean[], integer[], uuid[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape(p_inventories jsonb, p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_check_generations boolean, p_generations bigint[], p_unseen boolean[], p_owners integer[], p_providers uuid[], p_classes text[], p_amounts bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_held record;
    v_providers bigint[];
    v_named record;
    v_shape record;
BEGIN
    v_held := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    v_providers := reshape_hold(p_inventories, v_held.ids, p_providers);
    PERFORM reshape_check_providers(p_inventories, v_providers);
    IF p_check_generations THEN
        PERFORM consumer_check_generation(p_consumers, v_held.generations, p_generations, p_unseen);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    IF EXISTS (SELECT unnest(v_named.providers) EXCEPT SELECT unnest(v_providers)) THEN
        RAISE EXCEPTION 'a provider was made while others were locked' USING ERRCODE = '40001';
    END IF;

    FOR v_shape IN SELECT * FROM reshape_shapes(p_inventories) WHERE jsonb_array_length(records) > 0 LOOP
        PERFORM inventory_write(v_shape.provider_id, v_shape.root_id, v_shape.records);
        PERFORM bump_provider(v_shape.provider_id);
    END LOOP;
    PERFORM allocation_apply(v_held.ids, v_held.generations, v_held.projects, v_held.users, v_held.types,
        p_owners, v_named.providers, v_named.classes, p_amounts);
    FOR v_shape IN SELECT * FROM reshape_shapes(p_inventories) LOOP
        PERFORM inventory_drop_others(v_shape.provider, v_shape.provider_id, inventory_names(v_shape.records));
        PERFORM bump_provider(v_shape.provider_id);
    END LOOP;
END
$$;

--
-- Name: reshape_check_providers(jsonb, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_check_providers(p_inventories jsonb, p_held bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_wrong record;
BEGIN
    SELECT shape.provider, held.generation AS actual, shape.generation AS given INTO v_wrong
    FROM reshape_shapes(p_inventories) AS shape
    LEFT JOIN provider_generations AS held ON held.provider_id = shape.provider_id AND held.provider_id = ANY (p_held)
    WHERE held.generation IS DISTINCT FROM shape.generation
    ORDER BY shape.place
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'provider % has generation %, not %', v_wrong.provider, v_wrong.actual, v_wrong.given
            USING ERRCODE = CASE WHEN v_wrong.actual IS NULL THEN 'PL001' ELSE 'PL002' END,
            DETAIL = json_build_object('provider', v_wrong.provider, 'actual', v_wrong.actual, 'given', v_wrong.given);
    END IF;
END
$$;

--
-- Name: reshape_hold(jsonb, bigint[], uuid[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_hold(p_inventories jsonb, p_consumers bigint[], p_providers uuid[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_roots bigint[];
    v_root bigint;
    v_shaped bigint[];
    v_moved bool := false;
    v_held bigint[];
BEGIN
    SELECT coalesce(array_agg(DISTINCT shape.root_id ORDER BY shape.root_id), '{}'::bigint[]),
        coalesce(array_agg(shape.provider_id), '{}'::bigint[])
    INTO v_roots, v_shaped
    FROM reshape_shapes(p_inventories) AS shape WHERE shape.root_id IS NOT NULL;
    FOREACH v_root IN ARRAY v_roots LOOP
        SELECT root.root_id <> v_root INTO v_moved
        FROM resource_providers AS root WHERE root.id = v_root FOR SHARE;
        EXIT WHEN v_moved;  -- null if it is gone
    END LOOP;
    IF v_moved OR EXISTS (
        SELECT FROM resource_providers AS shaped WHERE shaped.id = ANY (v_shaped) AND shaped.root_id <> ALL (v_roots)
    ) THEN
        RAISE EXCEPTION 'trees of the providers % have been moved', v_shaped USING ERRCODE = '40001';
    END IF;
    PERFORM FROM resource_providers AS shaped WHERE shaped.id = ANY (v_shaped) ORDER BY shaped.id FOR KEY SHARE;
    v_held := v_shaped
        || ARRAY(SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = ANY (p_providers));
    PERFORM allocation_lock_providers(p_consumers, v_held);
    RETURN v_held;
END
$$;

--
-- Name: reshape_shapes(jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.reshape_shapes(p_inventories jsonb) RETURNS TABLE(place bigint, provider uuid, generation bigint, records jsonb, provider_id bigint, root_id bigint)
    LANGUAGE sql STABLE
    AS $$
    SELECT item.place, (item.shape ->> 'provider')::uuid, (item.shape ->> 'generation')::bigint,
        item.shape -> 'records', present.id, present.root_id
    FROM jsonb_array_elements(p_inventories) WITH ORDINALITY AS item (shape, place)
    LEFT JOIN LATERAL (
        SELECT one.id, one.root_id FROM resource_providers AS one
        WHERE one.uuid = (item.shape ->> 'provider')::uuid OFFSET 0
    ) AS present ON true
    ORDER BY item.place;
$$;

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
    SELECT class.id INTO v_id FROM resource_classes AS class WHERE class.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_id IS NULL THEN 'PL004'
        WHEN v_id < 10000 THEN 'PL020'
        WHEN EXISTS (SELECT FROM inventories AS inventory WHERE inventory.class_id = v_id) THEN 'PL022'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'resource class % cannot be deleted', p_name USING ERRCODE = v_rule,
            DETAIL = json_build_object('class', p_name);
    END IF;
    DELETE FROM resource_classes WHERE id = v_id;
END
$$;

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
    SELECT array_agg(class.id ORDER BY wanted.place),
           (array_agg(wanted.name ORDER BY wanted.place) FILTER (WHERE class.id IS NULL))[1]
    INTO v_ids, v_unknown
    FROM unnest(p_names) WITH ORDINALITY AS wanted (name, place)
    LEFT JOIN resource_classes AS class ON class.name = wanted.name;
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'no resource class %', v_unknown USING ERRCODE = 'PL004',
            DETAIL = json_build_object('class', v_unknown);
    END IF;
    RETURN coalesce(v_ids, '{}');
END
$$;

--
-- Name: resource_class_rename(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.resource_class_rename(p_name text, p_new_name text) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id int;
BEGIN
    SELECT class.id INTO v_id FROM resource_classes AS class WHERE class.name = p_name FOR UPDATE;
    IF v_id IS NULL OR v_id < 10000 THEN
        RAISE EXCEPTION 'resource class % cannot be renamed', p_name
            USING ERRCODE = CASE WHEN v_id IS NULL THEN 'PL004' ELSE 'PL020' END,
            DETAIL = json_build_object('class', p_name);
    END IF;
    UPDATE resource_classes SET name = p_new_name, updated_at = now() WHERE id = v_id AND name <> p_new_name;
END
$$;

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
    SELECT trait.id INTO v_id FROM traits AS trait WHERE trait.name = p_name FOR UPDATE;
    v_rule := CASE
        WHEN v_id IS NULL THEN 'PL013'
        WHEN NOT starts_with(p_name, 'CUSTOM_') THEN 'PL021'
        WHEN EXISTS (SELECT FROM provider_traits AS present WHERE present.trait_id = v_id) THEN 'PL023'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'trait % cannot be deleted', p_name USING ERRCODE = v_rule,
            DETAIL = json_build_object('traits', p_name);
    END IF;
    DELETE FROM traits WHERE id = v_id;
END
$$;

--
-- Name: gcd_of(bigint); Type: AGGREGATE; Schema: public; Owner: -
--

CREATE AGGREGATE public.gcd_of(bigint) (
    SFUNC = pg_catalog.gcd,
    STYPE = bigint,
    INITCOND = '0'
);

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

COMMENT ON TABLE public.aggregates IS 'Groups of providers, known by uuid only. Made on first use, never deleted.';

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
);

--
-- Name: TABLE allocations; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.allocations IS 'How much of a provider''s class a consumer uses. One row each; inventories.used holds the sums.';

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

COMMENT ON TABLE public.baremetal_backend IS 'Whether each bare metal node is a resource provider as well, written in the same transactions.';

--
-- Name: berth_function_set; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.berth_function_set (
    number integer NOT NULL,
    hash text NOT NULL,
    applied_at timestamp with time zone NOT NULL
);

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

COMMENT ON TABLE public.conductors IS 'Processes that decide allocations and drive nodes. One that is offline, or silent for too long, is dead: others take over what it had.';

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

COMMENT ON TABLE public.consumer_types IS 'INSTANCE, MIGRATION and the like. A consumer without one is reported as unknown.';

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
    updated_at timestamp with time zone
)
WITH (fillfactor='90');

--
-- Name: TABLE consumers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.consumers IS 'Whatever uses resources: instances, migrations. A row exists exactly as long as it has allocations.';

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
WITH (fillfactor='80');

--
-- Name: TABLE inventories; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.inventories IS 'How much of a resource class a provider has. used + amount <= (total - reserved) * allocation_ratio decides a claim.';

--
-- Name: legacy_aggregates; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_aggregates (
    id bigint NOT NULL,
    uuid uuid,
    spelled text COLLATE pg_catalog."C",
    created_at timestamp with time zone
);

--
-- Name: legacy_allocations; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_allocations (
    id bigint NOT NULL,
    resource_provider_id bigint NOT NULL,
    consumer_uuid uuid NOT NULL,
    spelled text COLLATE pg_catalog."C",
    resource_class_id bigint NOT NULL,
    used bigint NOT NULL,
    created_at timestamp with time zone,
    updated_at timestamp with time zone
);

--
-- Name: legacy_consumer_types; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_consumer_types (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone
);

--
-- Name: legacy_consumers; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_consumers (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    spelled text COLLATE pg_catalog."C",
    project_id bigint NOT NULL,
    user_id bigint NOT NULL,
    generation bigint NOT NULL,
    consumer_type_id bigint,
    created_at timestamp with time zone,
    updated_at timestamp with time zone
);

--
-- Name: legacy_imports; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.legacy_imports (
    only_row boolean DEFAULT true NOT NULL,
    source text NOT NULL,
    fingerprint text NOT NULL,
    began_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    digests jsonb DEFAULT '{}'::jsonb NOT NULL,
    traits text[] DEFAULT '{}'::text[] NOT NULL,
    resource_classes text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT legacy_imports_only_row_check CHECK (only_row)
);

--
-- Name: TABLE legacy_imports; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.legacy_imports IS 'The import of a Python service''s database: one row, unfinished while finished_at is null.';

--
-- Name: legacy_inventories; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_inventories (
    id bigint NOT NULL,
    resource_provider_id bigint NOT NULL,
    resource_class_id bigint NOT NULL,
    total bigint NOT NULL,
    reserved bigint NOT NULL,
    min_unit bigint NOT NULL,
    max_unit bigint NOT NULL,
    step_size bigint NOT NULL,
    allocation_ratio double precision NOT NULL,
    created_at timestamp with time zone,
    updated_at timestamp with time zone
);

--
-- Name: legacy_oddities; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.legacy_oddities (
    id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    found jsonb NOT NULL
);

--
-- Name: TABLE legacy_oddities; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.legacy_oddities IS 'What the last import found odd in its source. Kept until the next.';

--
-- Name: legacy_oddities_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.legacy_oddities ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.legacy_oddities_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: legacy_positions; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_positions (
    table_name text NOT NULL COLLATE pg_catalog."C",
    row_count bigint NOT NULL,
    first_key bigint NOT NULL,
    second_key bigint NOT NULL
);

--
-- Name: legacy_projects; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_projects (
    id bigint NOT NULL,
    external_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone
);

--
-- Name: legacy_provider_aggregates; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_provider_aggregates (
    resource_provider_id bigint NOT NULL,
    aggregate_id bigint NOT NULL
);

--
-- Name: legacy_provider_traits; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_provider_traits (
    resource_provider_id bigint NOT NULL,
    trait_id bigint NOT NULL
);

--
-- Name: legacy_resource_classes; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_resource_classes (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    class_id integer
);

--
-- Name: legacy_resource_providers; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_resource_providers (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    spelled text COLLATE pg_catalog."C",
    name text,
    generation bigint,
    root_provider_id bigint,
    parent_provider_id bigint,
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    parent_id bigint,
    root_id bigint
);

--
-- Name: legacy_traits; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_traits (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    trait_id integer
);

--
-- Name: legacy_users; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.legacy_users (
    id bigint NOT NULL,
    external_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone
);

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

COMMENT ON TABLE public.node_traits IS 'Traits of nodes by name; standard ones or CUSTOM_….';

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

COMMENT ON TABLE public.projects IS 'Identity service projects that own consumers. Made on first use, never deleted.';

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
    sharing boolean DEFAULT false NOT NULL
);

--
-- Name: provider_generations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.provider_generations (
    provider_id bigint NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone
)
WITH (fillfactor='50');

--
-- Name: TABLE provider_generations; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.provider_generations IS 'One narrow, often updated row a provider. Its row lock is the provider''s lock: whoever writes inventories, allocations, traits or aggregates of the provider holds it.';

--
-- Name: provider_traits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.provider_traits (
    provider_id bigint NOT NULL,
    trait_id integer NOT NULL
);

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

COMMENT ON TABLE public.resource_classes IS 'What can be provided and consumed: VCPU, MEMORY_MB, CUSTOM_GOLD.';

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
-- Name: resource_providers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.resource_providers (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    name text NOT NULL,
    root_id bigint NOT NULL,
    parent_id bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    trait_ids integer[] DEFAULT '{}'::integer[] NOT NULL,
    aggregate_ids integer[] DEFAULT '{}'::integer[] NOT NULL,
    CONSTRAINT resource_providers_root_check CHECK (((parent_id IS NULL) = (root_id = id)))
);

--
-- Name: TABLE resource_providers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.resource_providers IS 'Whatever has inventory: compute nodes, NUMA nodes, network functions, storage pools.';

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
    noticed_at timestamp with time zone DEFAULT now() NOT NULL
);

--
-- Name: TABLE timelines; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.timelines IS 'Timelines on which a primary has served requests that could be read from replicas. Positions in the WAL can be compared only within one: a replica that lacks the row of the present primary''s has not followed it.';

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

COMMENT ON TABLE public.traits IS 'Qualities of a provider that cannot be consumed. Standard traits do not begin with CUSTOM_.';

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

COMMENT ON TABLE public.users IS 'Identity service users that own consumers. Made on first use, never deleted.';

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
-- Name: inventories inventories_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.inventories
    ADD CONSTRAINT inventories_pkey PRIMARY KEY (provider_id, class_id);

--
-- Name: legacy_aggregates legacy_aggregates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_aggregates
    ADD CONSTRAINT legacy_aggregates_pkey PRIMARY KEY (id);

--
-- Name: legacy_allocations legacy_allocations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_allocations
    ADD CONSTRAINT legacy_allocations_pkey PRIMARY KEY (id);

--
-- Name: legacy_consumer_types legacy_consumer_types_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_consumer_types
    ADD CONSTRAINT legacy_consumer_types_pkey PRIMARY KEY (id);

--
-- Name: legacy_consumers legacy_consumers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_consumers
    ADD CONSTRAINT legacy_consumers_pkey PRIMARY KEY (id);

--
-- Name: legacy_imports legacy_imports_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_imports
    ADD CONSTRAINT legacy_imports_pkey PRIMARY KEY (only_row);

--
-- Name: legacy_inventories legacy_inventories_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_inventories
    ADD CONSTRAINT legacy_inventories_pkey PRIMARY KEY (id);

--
-- Name: legacy_oddities legacy_oddities_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_oddities
    ADD CONSTRAINT legacy_oddities_pkey PRIMARY KEY (id);

--
-- Name: legacy_positions legacy_positions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_positions
    ADD CONSTRAINT legacy_positions_pkey PRIMARY KEY (table_name);

--
-- Name: legacy_projects legacy_projects_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_projects
    ADD CONSTRAINT legacy_projects_pkey PRIMARY KEY (id);

--
-- Name: legacy_provider_aggregates legacy_provider_aggregates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_provider_aggregates
    ADD CONSTRAINT legacy_provider_aggregates_pkey PRIMARY KEY (resource_provider_id, aggregate_id);

--
-- Name: legacy_provider_traits legacy_provider_traits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_provider_traits
    ADD CONSTRAINT legacy_provider_traits_pkey PRIMARY KEY (resource_provider_id, trait_id);

--
-- Name: legacy_resource_classes legacy_resource_classes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_resource_classes
    ADD CONSTRAINT legacy_resource_classes_pkey PRIMARY KEY (id);

--
-- Name: legacy_resource_providers legacy_resource_providers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_resource_providers
    ADD CONSTRAINT legacy_resource_providers_pkey PRIMARY KEY (id);

--
-- Name: legacy_traits legacy_traits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_traits
    ADD CONSTRAINT legacy_traits_pkey PRIMARY KEY (id);

--
-- Name: legacy_users legacy_users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.legacy_users
    ADD CONSTRAINT legacy_users_pkey PRIMARY KEY (id);

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
-- Name: consumers_project_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX consumers_project_id_idx ON public.consumers USING btree (project_id, user_id);

--
-- Name: inventories_class_id_free_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX inventories_class_id_free_idx ON public.inventories USING btree (class_id, free, provider_id);

--
-- Name: legacy_allocations_consumer_uuid_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX legacy_allocations_consumer_uuid_idx ON public.legacy_allocations USING btree (consumer_uuid);

--
-- Name: legacy_consumers_uuid_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX legacy_consumers_uuid_idx ON public.legacy_consumers USING btree (uuid, id);

--
-- Name: legacy_inventories_key_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX legacy_inventories_key_idx ON public.legacy_inventories USING btree (resource_provider_id, resource_class_id);

--
-- Name: legacy_oddities_kind_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX legacy_oddities_kind_idx ON public.legacy_oddities USING btree (kind, id);

--
-- Name: legacy_resource_providers_parent_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX legacy_resource_providers_parent_id_idx ON public.legacy_resource_providers USING btree (parent_id);

--
-- Name: node_allocations_allocating_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX node_allocations_allocating_idx ON public.node_allocations USING btree (conductor_id, id) WHERE (state = 'allocating'::text);

--
-- Name: node_traits_trait_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX node_traits_trait_idx ON public.node_traits USING btree (trait, node_id);

--
-- Name: nodes_conductor_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX nodes_conductor_id_idx ON public.nodes USING btree (conductor_id) WHERE (conductor_id IS NOT NULL);

--
-- Name: nodes_free_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX nodes_free_idx ON public.nodes USING btree (resource_class, id) WHERE ((provision_state = 'available'::text) AND (instance_uuid IS NULL) AND (NOT maintenance));

--
-- Name: nodes_work_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX nodes_work_idx ON public.nodes USING btree (id) WHERE ((conductor_id IS NULL) AND ((target_provision_state IS NOT NULL) OR (target_power_state IS NOT NULL)));

--
-- Name: ports_node_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ports_node_id_idx ON public.ports USING btree (node_id);

--
-- Name: provider_aggregates_aggregate_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX provider_aggregates_aggregate_id_idx ON public.provider_aggregates USING btree (aggregate_id, provider_id);

--
-- Name: provider_aggregates_sharing_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX provider_aggregates_sharing_idx ON public.provider_aggregates USING btree (aggregate_id, provider_id) WHERE sharing;

--
-- Name: provider_traits_trait_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX provider_traits_trait_id_idx ON public.provider_traits USING btree (trait_id, provider_id);

--
-- Name: resource_providers_parent_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resource_providers_parent_id_idx ON public.resource_providers USING btree (parent_id) WHERE (parent_id IS NOT NULL);

--
-- Name: resource_providers_root_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resource_providers_root_id_idx ON public.resource_providers USING btree (root_id);

--
-- Name: resource_providers_roots_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resource_providers_roots_idx ON public.resource_providers USING btree (id) WHERE (parent_id IS NULL);

--
-- Name: resource_providers_shuffled_roots_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX resource_providers_shuffled_roots_idx ON public.resource_providers USING btree (hashint8extended(id, (0)::bigint), id) WHERE (parent_id IS NULL);

--
-- Name: node_traits node_traits_provider_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER node_traits_provider_delete AFTER DELETE ON public.node_traits REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.node_provider_follow_traits();

--
-- Name: node_traits node_traits_provider_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER node_traits_provider_insert AFTER INSERT ON public.node_traits REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.node_provider_follow_traits();

--
-- Name: nodes nodes_provider_delete; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER nodes_provider_delete AFTER DELETE ON public.nodes FOR EACH ROW EXECUTE FUNCTION public.node_provider_follow();

--
-- Name: nodes nodes_provider_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER nodes_provider_insert AFTER INSERT ON public.nodes FOR EACH ROW EXECUTE FUNCTION public.node_provider_follow();

--
-- Name: nodes nodes_provider_update; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER nodes_provider_update AFTER UPDATE ON public.nodes FOR EACH ROW WHEN (((old.resource_class IS DISTINCT FROM new.resource_class) OR (old.provision_state <> new.provision_state) OR (old.instance_uuid IS DISTINCT FROM new.instance_uuid) OR (old.maintenance <> new.maintenance) OR (old.power_state IS DISTINCT FROM new.power_state))) EXECUTE FUNCTION public.node_provider_follow();

--
-- Name: provider_aggregates provider_aggregates_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_aggregates_deleted AFTER DELETE ON public.provider_aggregates REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.provider_aggregates_copy();

--
-- Name: provider_aggregates provider_aggregates_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_aggregates_inserted AFTER INSERT ON public.provider_aggregates REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.provider_aggregates_copy();

--
-- Name: provider_traits provider_traits_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_traits_deleted AFTER DELETE ON public.provider_traits REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.provider_traits_copy();

--
-- Name: provider_traits provider_traits_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER provider_traits_inserted AFTER INSERT ON public.provider_traits REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.provider_traits_copy();

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
