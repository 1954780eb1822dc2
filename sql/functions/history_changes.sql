-- Returns what the notes of committed writes say that is not in history yet: a row for each changed object of each write.
--
-- p_swept: history_state.swept. last is the last number of the write: history has writes in this order.
-- Several notes of one object in one write become one change: what was before the first, what is after the last. An object that is
-- then the same is no change.
-- Called by history_step and history_pending. Locks: none. Plan: outbox_pkey from p_swept on.
CREATE OR REPLACE FUNCTION history_changes(p_swept bigint)
RETURNS TABLE (xid xid8, last bigint, seq bigint, topic text, provider uuid, consumer uuid, node uuid, class text,
    before jsonb, after jsonb, generation bigint)
LANGUAGE sql STABLE AS $$
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
