-- Moves the work of dead conductors to p_hostname: allocations to process, and nodes to work on. A
-- conductor is dead if it has unregistered or its heartbeat is older than p_heartbeat_timeout. Allocations
-- without a conductor are moved too.
--
-- It skips rows that other transactions have locked: another conductor takes them over, or a conductor
-- processes them now. It deletes dead conductors without work whose heartbeat is older than a day. Returns
-- the UUIDs of the allocations and nodes.
-- Raises PL040 (the caller never registered). Locks: nodes, then allocations, without waiting.
CREATE OR REPLACE FUNCTION conductor_take_over(
    p_hostname text, p_heartbeat_timeout interval, OUT allocations uuid[], OUT nodes uuid[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_me int := (SELECT /* conductor_take_over 1/5 */ conductor.id FROM conductors AS conductor
        WHERE conductor.hostname = p_hostname);
    v_dead int[] := ARRAY(
        SELECT /* conductor_take_over 2/5 */ conductor.id FROM conductors AS conductor
        WHERE conductor.hostname <> p_hostname
            AND (NOT conductor.online OR conductor.updated_at < now() - p_heartbeat_timeout));
BEGIN
    IF v_me IS NULL THEN
        RAISE EXCEPTION 'no conductor %', p_hostname USING ERRCODE = 'PL040',
            DETAIL = json_build_object('conductor', p_hostname);
    END IF;
    WITH /* conductor_take_over 3/5 */ orphaned AS (
        SELECT node.id FROM nodes AS node WHERE node.conductor_id = ANY (v_dead)
        ORDER BY node.id FOR NO KEY UPDATE SKIP LOCKED
    ), updated AS (
        UPDATE nodes AS node SET conductor_id = v_me, revision = node.revision + 1
        FROM orphaned WHERE node.id = orphaned.id
        RETURNING node.id, node.uuid
    )
    SELECT coalesce(array_agg(updated.uuid ORDER BY updated.id), '{}') INTO conductor_take_over.nodes FROM updated;
    WITH /* conductor_take_over 4/5 */ orphaned AS (
        SELECT allocation.id FROM node_allocations AS allocation
        WHERE allocation.state = 'allocating'
            AND (allocation.conductor_id = ANY (v_dead) OR allocation.conductor_id IS NULL)
        ORDER BY allocation.id FOR NO KEY UPDATE SKIP LOCKED
    ), updated AS (
        UPDATE node_allocations AS allocation SET conductor_id = v_me, revision = allocation.revision + 1 FROM orphaned
        WHERE allocation.id = orphaned.id
        RETURNING allocation.id, allocation.uuid
    )
    SELECT coalesce(array_agg(updated.uuid ORDER BY updated.id), '{}') INTO conductor_take_over.allocations
    FROM updated;

    DELETE /* conductor_take_over 5/5 */ FROM conductors AS conductor
    WHERE conductor.id = ANY (v_dead) AND conductor.updated_at < now() - greatest(p_heartbeat_timeout, interval '1 day')
      AND NOT EXISTS (SELECT FROM nodes AS node WHERE node.conductor_id = conductor.id)
      AND NOT EXISTS (
        SELECT FROM node_allocations AS allocation
        WHERE allocation.conductor_id = conductor.id AND allocation.state = 'allocating');
END
$$;
