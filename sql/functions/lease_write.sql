-- Writes the leases of consumers after the write of their allocations, in the same statement, and returns all of them.
--
-- p_leases is a JSON array in the order of p_consumers. An element has seconds, until or both; {} takes the lease away, and null
-- leaves it as it is. A consumer that does not exist any more, because the write has taken its last allocation, gets none.
-- Returns the leases afterwards in the same order, as lease_show has them; null: none.
-- Raises PL080 and PL081, see lease_check.
-- Locks: the leases in the order of the consumers' ids. The caller has locked the consumers and providers.
-- Calls: lease_check, if the request gives a lease.
CREATE OR REPLACE FUNCTION lease_write(p_consumers uuid[], p_leases jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    v_leases jsonb[] := array_fill(NULL::jsonb, ARRAY[cardinality(p_consumers)]);
    v_consumer record;
    v_lease jsonb;
    v_expires_at timestamptz;
BEGIN
    FOR v_consumer IN
        SELECT /* lease_write 1/7 */ requested.position, requested.uuid, found.id, found.leased, given.lease,
            (given.lease ->> 'seconds')::int AS seconds, (given.lease ->> 'until')::timestamptz AS until
        FROM unnest(p_consumers) WITH ORDINALITY AS requested (uuid, position)
        CROSS JOIN LATERAL (SELECT nullif(p_leases -> (requested.position - 1)::int, 'null') AS lease) AS given
        CROSS JOIN LATERAL (SELECT one.id, one.leased FROM consumers AS one WHERE one.uuid = requested.uuid OFFSET 0) AS found
        WHERE found.leased OR given.lease <> '{}'
        ORDER BY found.id
    LOOP
        IF v_consumer.lease IS NULL THEN
            SELECT /* lease_write 2/7 */ lease_show(lease) INTO v_lease
            FROM leases AS lease WHERE lease.consumer_id = v_consumer.id;
            v_leases[v_consumer.position] := v_lease;
        ELSIF v_consumer.lease = '{}' THEN
            DELETE /* lease_write 3/7 */ FROM leases WHERE consumer_id = v_consumer.id;
            UPDATE /* lease_write 4/7 */ consumers SET leased = false WHERE id = v_consumer.id;
        ELSE
            PERFORM /* lease_write 5/7 */ lease_check(v_consumer.uuid, v_consumer.id, v_consumer.until);
            v_expires_at := least(clock_timestamp() + make_interval(secs => v_consumer.seconds), v_consumer.until);
            INSERT /* lease_write 6/7 */ INTO leases AS lease (consumer_id, seconds, until, expires_at, due)
            VALUES (v_consumer.id, v_consumer.seconds, v_consumer.until, v_expires_at, v_expires_at)
            ON CONFLICT (consumer_id) DO UPDATE SET seconds = excluded.seconds, until = excluded.until,
                expires_at = excluded.expires_at, due = least(lease.due, excluded.due)
            RETURNING lease_show(lease) INTO v_lease;
            v_leases[v_consumer.position] := v_lease;
            UPDATE /* lease_write 7/7 */ consumers SET leased = true WHERE id = v_consumer.id AND NOT leased;
        END IF;
    END LOOP;
    RETURN to_jsonb(v_leases);
END
$$;
