-- DELETE /allocations/{consumer_uuid}: deletes the consumer with all its allocations.
--
-- p_generation null: do not compare the consumer's generation. Returns whether the consumer existed.
-- Generations of the providers do not change. Raises PL003 (generation). Locks: the consumer FOR UPDATE, its
-- providers in the order of their ids.
-- Calls: consumer_check_generation, allocation_lock_providers.
CREATE OR REPLACE FUNCTION allocation_delete_checked(p_consumer uuid, p_generation bigint) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
    v_generation bigint;
    v_row allocations;
BEGIN
    SELECT /* allocation_delete_checked 1/6 */ consumer.id, consumer.generation INTO v_id, v_generation
    FROM consumers AS consumer WHERE consumer.uuid = p_consumer FOR UPDATE;
    IF v_id IS NULL THEN
        RETURN false;
    END IF;
    IF p_generation IS NOT NULL THEN
        PERFORM /* allocation_delete_checked 2/6 */ consumer_check_generation(ARRAY[p_consumer], ARRAY[v_generation],
            ARRAY[p_generation], '{false}');
    END IF;
    PERFORM /* allocation_delete_checked 3/6 */ allocation_lock_providers(ARRAY[v_id], '{}');
    FOR v_row IN DELETE /* allocation_delete_checked 4/6 */ FROM allocations WHERE consumer_id = v_id
        RETURNING allocations.* LOOP
        UPDATE /* allocation_delete_checked 5/6 */ inventories SET used = used - v_row.used
        WHERE provider_id = v_row.provider_id AND class_id = v_row.class_id;
    END LOOP;
    DELETE /* allocation_delete_checked 6/6 */ FROM consumers WHERE id = v_id;
    RETURN true;
END
$$;
