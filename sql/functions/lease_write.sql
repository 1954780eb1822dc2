-- Writes the leases of consumers after the write of their allocations, in the same statement, and returns all of them.
--
-- p_leases is a JSON array in the order of p_consumers. An element has seconds, until or both; {} takes the lease away, and null
-- leaves it as it is. A consumer that does not exist any more, because the write has taken its last allocation, gets none.
-- Returns the leases afterwards in the same order, as lease_show has them; null: none.
-- Raises PL080 and PL081, see lease_check.
-- Locks: the leases in the order of the consumers' ids. The caller has locked the consumers and providers.
-- Calls: lease_check, if the request gives a lease with until, or to a consumer with the UUID of a node allocation.
--
-- A new consumer with a lease is one look at its row and two writes.
CREATE OR REPLACE FUNCTION lease_write(p_consumers uuid[], p_leases jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
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
