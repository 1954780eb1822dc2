-- Puts the notes of committed writes in order and writes them to history. Returns the newest index. Each server calls it every
-- second while changes are recorded.
--
-- p_wait: wait for a step that is under way; otherwise return without doing anything.
--
-- The transactions are ordered by their last numbers. A transaction draws its last number when it holds all its locks. So of two
-- that need the same lock, the one that got it first has the lower number, and it has committed before the other one could draw
-- its own. What is not committed yet gets a higher index, and nothing of it must come before what this step sees.
--
-- swept is the number up to which no note can appear any more. A transaction that has drawn a number holds a lock on outbox until
-- it ends: when all that held one at an earlier look have ended, nothing below the last number of that look can appear.
--
-- Several notes of one object in one write become one change: what was before the first, what is after the last. An object that is
-- then the same is no change. Callers set berth.caller, as JSON, before their write, in its transaction.
--
-- While the record is off, it deletes the notes of transactions that were under way when it was turned off, and records nothing.
--
-- Locks: an advisory lock that only steps take; no writer waits for it. enable_seqscan off: a plan that was made while outbox was
-- small would read all its dead rows.
-- Calls: history_day. Plan: outbox_pkey from swept on.
CREATE OR REPLACE FUNCTION history_step(p_wait bool) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off AS $$
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
            coalesce(change.generation, (SELECT raised.generation FROM generations AS raised
                WHERE raised.xid = change.xid AND raised.provider = change.provider)),
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
