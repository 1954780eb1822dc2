-- PATCH /allocations/{consumer_uuid}: changes some allocations of a consumer, its project, user, type or lease.
--
-- p_generation null: do not compare the consumer's generation. p_project, p_user and p_type null: unchanged. The arrays
-- have one element per allocation, in the order of the request; the amount 0 removes it, and with the class '' all
-- allocations on the provider. No two elements set the same allocation. p_lease: seconds, until or both; {} takes the lease away,
-- and null leaves it as it is.
-- Increments the generations of the consumer and of the providers whose allocations change, once each; without a change
-- it writes nothing. Removing the last allocation deletes the consumer.
-- Returns all allocations afterwards, in the order of position; no row: the consumer is deleted.
-- Raises, in this order: PL075 (no such consumer), PL003 (generation), PL009, PL004 (see allocation_resolve), PL010,
-- PL011, PL012 (see allocation_raise_error), 40001 if a provider was deleted concurrently, PL080 and PL081 (see lease_check).
-- Locks: a new project, user and type; the consumer; the providers with changes, in the order of their ids; the lease. Idempotent
-- without a generation.
-- Calls: consumer_ensure_references, consumer_check_generation, allocation_patch_changes, allocation_patch_apply,
-- lease_write.
CREATE OR REPLACE FUNCTION allocation_patch_leased(
    p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text,
    p_providers uuid[], p_classes text[], p_amounts bigint[], p_lease jsonb
) RETURNS TABLE (
    shown_position bigint, shown_provider uuid, shown_provider_generation bigint, shown_class text, shown_used bigint,
    shown_project text, shown_user text, shown_generation bigint, shown_type text, shown_lease jsonb
)
LANGUAGE plpgsql AS $$
DECLARE
    v_was record;
    v_owner record;
    v_changes record;
BEGIN
    PERFORM /* allocation_patch_leased 1/9 */ consumer_ensure_references(array_remove(ARRAY[p_project], NULL),
        array_remove(ARRAY[p_user], NULL), array_remove(ARRAY[p_type], NULL));
    SELECT /* allocation_patch_leased 2/9 */ consumer.id, consumer.generation, consumer.project_id, consumer.user_id,
        consumer.consumer_type_id, consumer.leased
    INTO v_was FROM consumers AS consumer
    WHERE consumer.uuid = p_consumer FOR NO KEY UPDATE;
    IF v_was.id IS NULL THEN
        RAISE EXCEPTION 'no consumer %', p_consumer USING ERRCODE = 'PL075',
            DETAIL = json_build_object('consumer', p_consumer);
    END IF;
    IF p_generation IS NOT NULL THEN
        PERFORM /* allocation_patch_leased 3/9 */ consumer_check_generation(ARRAY[p_consumer], ARRAY[v_was.generation],
            ARRAY[p_generation], '{false}');
    END IF;
    SELECT /* allocation_patch_leased 4/9 */
        coalesce((SELECT project.id FROM projects AS project WHERE project.external_id = p_project), v_was.project_id)
            AS project_id,
        coalesce((SELECT owner.id FROM users AS owner WHERE owner.external_id = p_user), v_was.user_id) AS user_id,
        coalesce((SELECT type.id FROM consumer_types AS type WHERE type.name = p_type), v_was.consumer_type_id)
            AS type_id
    INTO v_owner;
    v_changes := allocation_patch_changes(v_was.id, p_providers, p_classes, p_amounts);
    IF cardinality(v_changes.providers) > 0 THEN
        PERFORM /* allocation_patch_leased 5/9 */ allocation_patch_apply(v_was.id, v_changes.providers, v_changes.classes,
            v_changes.amounts, v_changes.previous);
    END IF;
    IF cardinality(v_changes.providers) > 0 OR (v_owner.project_id, v_owner.user_id, v_owner.type_id)
        IS DISTINCT FROM (v_was.project_id, v_was.user_id, v_was.consumer_type_id)
        OR p_lease <> '{}' OR v_was.leased AND p_lease = '{}'
    THEN
        UPDATE /* allocation_patch_leased 6/9 */ consumers SET generation = generation + 1, updated_at = now(),
            project_id = v_owner.project_id, user_id = v_owner.user_id, consumer_type_id = v_owner.type_id
        WHERE id = v_was.id;
        DELETE /* allocation_patch_leased 7/9 */ FROM consumers AS consumer
        WHERE consumer.id = v_was.id
          AND NOT EXISTS (SELECT FROM allocations AS allocation WHERE allocation.consumer_id = v_was.id);
        IF p_lease IS NOT NULL THEN
            PERFORM /* allocation_patch_leased 8/9 */ lease_write(ARRAY[p_consumer], jsonb_build_array(p_lease));
        END IF;
    END IF;
    RETURN QUERY SELECT /* allocation_patch_leased 9/9 */ allocation.id, provider.uuid, generation_row.generation, class.name,
        allocation.used, project.external_id, owner.external_id, consumer.generation, coalesce(type.name, ''),
        CASE WHEN consumer.leased THEN (SELECT lease_show(lease) FROM leases AS lease WHERE lease.consumer_id = consumer.id) END
    FROM consumers AS consumer
    JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
    JOIN resource_providers AS provider ON provider.id = allocation.provider_id
    JOIN provider_generations AS generation_row ON generation_row.provider_id = allocation.provider_id
    JOIN resource_classes AS class ON class.id = allocation.class_id
    JOIN projects AS project ON project.id = consumer.project_id
    JOIN users AS owner ON owner.id = consumer.user_id
    LEFT JOIN consumer_types AS type ON type.id = consumer.consumer_type_id
    WHERE consumer.id = v_was.id;
END
$$;
