-- POST /leases: renews the leases of consumers. Each renewal stands for itself.
--
-- p_seconds null: each lease keeps its length. Returns a row for each consumer, in the order of p_consumers: seconds and
-- expires_at of its lease afterwards, or null without a lease that can be renewed; and whether the consumer exists.
-- A renewal moves expires_at, also to an earlier time, but never past until. A lease that has expired and whose consumer is not
-- yet removed is renewed like any other. No generation changes.
-- Each answer was true at one moment of the call: a consumer that is deleted and created again meanwhile is one that was gone.
-- Locks: the leases in the order of the consumers' ids; no consumer and no provider. A removal locks the leases last, and
-- compares expires_at then.
-- Plan: consumers_uuid_key and leases_pkey, a look-up for each consumer. due, which alone is in an index, changes only if a
-- lease gets shorter; otherwise the new row stays in its page (HOT).
CREATE OR REPLACE FUNCTION lease_renew(p_consumers uuid[], p_seconds int) RETURNS TABLE (
    renewed_uuid uuid, renewed_seconds int, renewed_expires_at timestamptz, renewed_exists bool
)
LANGUAGE plpgsql AS $$
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
