-- Writes the attributes and generations of consumers whose allocations a request has changed, and deletes those without
-- allocations.
--
-- p_projects, p_users: ids; null: unchanged. p_types: ids; null or 0: unchanged. p_changed: the consumer existed and it
-- or its allocations change; its generation is incremented. Locks: nothing more. The caller has locked the consumers.
CREATE OR REPLACE FUNCTION consumer_write_changes(
    p_consumers bigint[], p_projects bigint[], p_users bigint[], p_types int[], p_changed bool[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality(p_consumers) LOOP
        IF p_changed[i] THEN
            UPDATE /* consumer_write_changes 1/2 */ consumers SET generation = generation + 1, updated_at = now(),
                project_id = coalesce(p_projects[i], project_id), user_id = coalesce(p_users[i], user_id),
                consumer_type_id = coalesce(nullif(p_types[i], 0), consumer_type_id)
            WHERE id = p_consumers[i];
        END IF;
        DELETE /* consumer_write_changes 2/2 */ FROM consumers AS consumer
        WHERE consumer.id = p_consumers[i]
          AND NOT EXISTS (SELECT FROM allocations AS allocation WHERE allocation.consumer_id = consumer.id);
    END LOOP;
END
$$;
