-- Processes an allocation, and with a member of a batch all other members. One transaction, and so one
-- call, per allocation or batch. Returns the stage that no node passes of each allocation that is in error
-- for want of a node (see node_allocation_failure_reason), for a metric.
--
-- p_conductor is the hostname of the caller. Does nothing unless the allocation is pending and assigned to
-- this conductor. Otherwise the allocation is active afterwards, or in error with the reason.
--
-- A batch: if fewer members than the minimum would get a node, none does, and all are in error. Otherwise
-- only the members without a node are. If several conductors took over the members of a dead conductor,
-- each processes its part with the whole minimum, so no part has fewer.
--
-- Notifies berth_node_allocation_decided of the UUID of each extended allocation that it processed: a
-- client may wait. Raises only 40001, if the setting whether nodes are providers changed meanwhile.
-- Locks: the project, if nodes are providers; a batch with an advisory lock until the end of the
-- transaction, so that its members, of which each conductor is notified separately, are processed once;
-- then as node_allocation_decide. With a batch it holds locks of nodes while it waits for the next one: two
-- batches, or a batch and a writer of several providers, may deadlock. The store retries the one that
-- PostgreSQL aborts.
-- Calls: node_provider_ensure_owner (if nodes are providers), node_allocation_decide for each allocation in
-- the order of their ids.
CREATE OR REPLACE FUNCTION node_allocation_process_counted(p_uuid uuid, p_conductor text) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    v_allocation node_allocations;
    v_class text;  -- name in Placement; computed once, and not for each class that is compared
    v_unit int;  -- null: nodes are not providers; -1: no node ever had a unit of this class
    v_members node_allocations[];
    v_member node_allocations;
    v_ids bigint[];
    v_reasons text[] := '{}'::text[];
    v_assigned int := 0;
    v_short text;
    v_reason text;
    v_stage text;
    v_first text;
    v_stages text[] := '{}'::text[];
BEGIN
    SELECT /* node_allocation_process_counted 1/12 */ allocation.* INTO v_allocation FROM node_allocations AS allocation
    WHERE allocation.uuid = p_uuid AND allocation.state = 'allocating' AND allocation.conductor_id = (
        SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor);
    IF NOT FOUND THEN
        RETURN v_stages;
    END IF;
    IF (SELECT /* node_allocation_process_counted 2/12 */ backend.placement FROM baremetal_backend AS backend) THEN
        v_class := node_provider_class_name(v_allocation.resource_class);
        v_unit := coalesce((SELECT /* node_allocation_process_counted 3/12 */ class.id FROM resource_classes AS class
            WHERE class.name = v_class), -1);
        PERFORM /* node_allocation_process_counted 4/12 */ node_provider_ensure_owner(v_allocation.owner);
    END IF;

    IF v_allocation.batch_uuid IS NULL THEN
        v_members := ARRAY[v_allocation];
        v_ids := ARRAY[v_allocation.id];
        v_reasons := ARRAY[node_allocation_decide(v_allocation, v_unit)];
    ELSE
        PERFORM /* node_allocation_process_counted 5/12 */ pg_advisory_xact_lock(
            hashtextextended('node allocation batch ' || v_allocation.batch_uuid, 0));
        v_ids := ARRAY(
            SELECT /* node_allocation_process_counted 6/12 */ member.id FROM node_allocations AS member
            WHERE member.conductor_id = v_allocation.conductor_id AND member.state = 'allocating'
              AND member.batch_uuid = v_allocation.batch_uuid
            ORDER BY member.id);
        BEGIN
            FOR v_member IN SELECT /* node_allocation_process_counted 7/12 */ member.* FROM node_allocations AS member
                WHERE member.id = ANY (v_ids) ORDER BY member.id LOOP
                v_reasons := v_reasons || node_allocation_decide(v_member, v_unit);
            END LOOP;
            -- Count them, because a member that was deleted meanwhile is no longer pending.
            v_assigned := (SELECT /* node_allocation_process_counted 8/12 */ count(*) FROM node_allocations AS member
                WHERE member.id = ANY (v_ids) AND member.state = 'active');
            IF v_assigned < v_allocation.batch_minimum THEN
                RAISE no_data_found;
            END IF;
        EXCEPTION
            WHEN no_data_found THEN
                v_first := (SELECT /* node_allocation_process_counted 9/12 */ failed.reason
                    FROM unnest(v_reasons) AS failed (reason) WHERE failed.reason IS NOT NULL LIMIT 1);
                v_short := format('%s: only %s of at least %s nodes could be reserved for the batch: %s',
                    split_part(v_first, ': ', 1), v_assigned, v_allocation.batch_minimum,
                    coalesce(substr(v_first, strpos(v_first, ': ') + 2), 'the others were deleted'));
        END;
        v_members := ARRAY(SELECT /* node_allocation_process_counted 10/12 */ member FROM node_allocations AS member
            WHERE member.id = ANY (v_ids) ORDER BY member.id);
    END IF;

    FOREACH v_member IN ARRAY v_members LOOP
        v_reason := coalesce(v_short, v_reasons[array_position(v_ids, v_member.id)]);
        IF v_reason IS NOT NULL THEN
            v_stage := split_part(v_reason, ': ', 1);
            UPDATE /* node_allocation_process_counted 11/12 */ node_allocations
                SET state = 'error', conductor_id = NULL, revision = revision + 1, updated_at = now(),
                last_error = format('Failed to process allocation %s: %s.', v_member.uuid,
                    substr(v_reason, strpos(v_reason, ': ') + 2))
            WHERE id = v_member.id AND state = 'allocating' AND conductor_id = v_allocation.conductor_id;
            IF FOUND AND v_stage <> '' THEN
                v_stages := v_stages || v_stage;
            END IF;
        END IF;
        IF v_member.extended THEN
            PERFORM /* node_allocation_process_counted 12/12 */ pg_notify('berth_node_allocation_decided', v_member.uuid::text);
        END IF;
    END LOOP;
    RETURN v_stages;
END
$$;
