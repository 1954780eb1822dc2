-- DELETE /allocations/{consumer}: the consumer and all it uses.
--
-- Returns whether there was anything. Generations of the providers stay as they
-- are. Locks: the consumer FOR UPDATE, its providers in id order.
CREATE OR REPLACE FUNCTION allocation_delete(p_consumer uuid) RETURNS bool
LANGUAGE plpgsql AS $$
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
