-- Decides all of a batch that are still to be decided by the conductor of p_wanted, which
-- is one of them.
--
-- Where fewer than the minimum would get a node none does, and all are in error. Else
-- those without a node are. Where a dead conductor's members were taken over by several,
-- each decides its part by the whole minimum, which is never undercut that way.
-- Notifies berth_decisions of all their uuids. Raises 40001 as node_allocation_decide.
-- Locks: the batch, by an advisory lock until the end, so that its members, of which
-- each conductor hears by itself, are decided once; then as node_allocation_decide, for
-- one member after the other. That keeps nodes while it waits for the next: two
-- batches, or a batch and a writer of several providers, may wait for each other. The one
-- that PostgreSQL breaks off is begun again.
CREATE OR REPLACE FUNCTION node_allocation_batch(p_wanted node_allocations, p_unit int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_members bigint[];
    v_member node_allocations;
    v_reasons text[] := '{}'::text[];
    v_reason text;
    v_given int := 0;
    v_short bool := false;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('node allocation batch ' || p_wanted.batch_uuid, 0));
    v_members := ARRAY(
        SELECT member.id FROM node_allocations AS member
        WHERE member.conductor_id = p_wanted.conductor_id AND member.state = 'allocating'
          AND member.batch_uuid = p_wanted.batch_uuid
        ORDER BY member.id);
    BEGIN
        FOR v_member IN SELECT member.* FROM node_allocations AS member WHERE member.id = ANY (v_members) ORDER BY member.id LOOP
            v_reasons := v_reasons || coalesce(node_allocation_decide(v_member, p_unit), '');
        END LOOP;
        -- Counted, since one that was deleted meanwhile is no longer to be decided.
        v_given := (SELECT count(*) FROM node_allocations AS member WHERE member.id = ANY (v_members) AND member.state = 'active');
        IF v_given < p_wanted.batch_minimum THEN
            RAISE no_data_found;
        END IF;
    EXCEPTION
        WHEN no_data_found THEN v_short := true;
    END;

    FOR v_member IN SELECT member.* FROM node_allocations AS member WHERE member.id = ANY (v_members) ORDER BY member.id LOOP
        v_reason := v_reasons[array_position(v_members, v_member.id)];
        IF v_short THEN
            v_reason := format('only %s of at least %s nodes could be reserved for the batch: %s', v_given, p_wanted.batch_minimum,
                coalesce((SELECT one.reason FROM unnest(v_reasons) AS one (reason) WHERE one.reason <> '' LIMIT 1), 'the others were deleted'));
        END IF;
        IF v_member.state = 'allocating' THEN
            PERFORM node_allocation_fail(v_member, v_reason);
        ELSE
            PERFORM pg_notify('berth_decisions', v_member.uuid::text);
        END IF;
    END LOOP;
END
$$;
