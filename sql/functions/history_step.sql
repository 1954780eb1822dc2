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
-- Callers set berth.caller, as JSON, before their write, in its transaction.
--
-- While the record is off, it deletes the notes of transactions that were under way when it was turned off, and records nothing.
--
-- Locks: an advisory lock that only steps take; no writer waits for it. enable_seqscan off: a plan that was made while outbox was
-- small would read all its dead rows.
-- Calls: history_day, history_changes. Plan: outbox_pkey from swept on.
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
