-- DELETE /allocations/{consumer_uuid}: deletes the consumer with all its allocations.
--
-- Returns whether the consumer existed. Generations of the providers do not change. Locks: the consumer FOR
-- UPDATE, its providers in the order of their ids.
CREATE OR REPLACE FUNCTION allocation_delete(p_consumer uuid) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
    v_row allocations;
BEGIN
    SELECT /* allocation_delete 1/5 */ consumer.id INTO v_id FROM consumers AS consumer
    WHERE consumer.uuid = p_consumer FOR UPDATE;
    IF v_id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM /* allocation_delete 2/5 */ allocation_lock_providers(ARRAY[v_id], '{}');
    FOR v_row IN DELETE /* allocation_delete 3/5 */ FROM allocations WHERE consumer_id = v_id
        RETURNING allocations.* LOOP
        UPDATE /* allocation_delete 4/5 */ inventories SET used = used - v_row.used
        WHERE provider_id = v_row.provider_id AND class_id = v_row.class_id;
    END LOOP;
    DELETE /* allocation_delete 5/5 */ FROM consumers WHERE id = v_id;
    RETURN true;
END
$$;
