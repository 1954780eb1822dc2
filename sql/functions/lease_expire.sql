-- Removes consumers whose leases have expired, with all their allocations. Each server calls it every --lease-interval.
--
-- It looks at the first p_most leases in the order of due. Those that were renewed since have a later expires_at: if there are any,
-- it moves their due and removes nothing, so that the next call has the order of expires_at. Otherwise it removes the first p_most
-- whose expires_at has passed, by the clock of the database, and whose consumer no other transaction has locked, such as that of
-- another server.
--
-- looked_at is how many leases it looked at, moved the number of those that it locked to move their due. removed is a JSON array with the removed
-- consumers in the order of expires_at, with what they had.
-- A removal writes what DELETE /allocations/{consumer_uuid} writes, so the generations of providers do not change.
-- Locks: the consumers with SKIP LOCKED; their providers in the order of their ids; then their leases in the order of the
-- consumers' ids. Only then it compares expires_at: a renewal that was first counts.
-- Calls: allocation_lock_providers.
-- Plan: leases_due_idx, one look if nothing is due; then keys for each consumer.
CREATE OR REPLACE FUNCTION lease_expire(p_most int, OUT looked_at int, OUT moved int, OUT removed jsonb)
LANGUAGE plpgsql AS $$
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
