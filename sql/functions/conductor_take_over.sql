-- Gives p_hostname the work of conductors that have left, or were silent for longer
-- than p_silence: allocations to decide, and nodes to go on with. Allocations that
-- nobody has go with them.
--
-- What another conductor takes over at the same moment is left to it, and so is what
-- is being decided right now. Conductors that nothing has been heard of for a day
-- and that have nothing any more are forgotten. Returns the uuids of what was taken.
-- Raises PL040 (the caller never registered). Locks: nodes, then allocations, without
-- waiting.
CREATE OR REPLACE FUNCTION conductor_take_over(
    p_hostname text, p_silence interval, OUT allocations uuid[], OUT nodes uuid[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_me int := (SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_hostname);
    v_dead int[] := ARRAY(
        SELECT conductor.id FROM conductors AS conductor
        WHERE conductor.hostname <> p_hostname AND (NOT conductor.online OR conductor.updated_at < now() - p_silence));
BEGIN
    IF v_me IS NULL THEN
        RAISE EXCEPTION 'no conductor %', p_hostname USING ERRCODE = 'PL040',
            DETAIL = json_build_object('conductor', p_hostname);
    END IF;
    WITH left_behind AS (
        SELECT node.id FROM nodes AS node WHERE node.conductor_id = ANY (v_dead)
        ORDER BY node.id FOR NO KEY UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE nodes AS node SET conductor_id = v_me, revision = node.revision + 1
        FROM left_behind WHERE node.id = left_behind.id
        RETURNING node.id, node.uuid
    )
    SELECT coalesce(array_agg(taken.uuid ORDER BY taken.id), '{}') INTO conductor_take_over.nodes FROM taken;
    WITH left_behind AS (
        SELECT allocation.id FROM node_allocations AS allocation
        WHERE allocation.state = 'allocating' AND (allocation.conductor_id = ANY (v_dead) OR allocation.conductor_id IS NULL)
        ORDER BY allocation.id FOR NO KEY UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE node_allocations AS allocation SET conductor_id = v_me, revision = allocation.revision + 1 FROM left_behind WHERE allocation.id = left_behind.id
        RETURNING allocation.id, allocation.uuid
    )
    SELECT coalesce(array_agg(taken.uuid ORDER BY taken.id), '{}') INTO conductor_take_over.allocations FROM taken;

    DELETE FROM conductors AS conductor
    WHERE conductor.id = ANY (v_dead) AND conductor.updated_at < now() - greatest(p_silence, interval '1 day')
      AND NOT EXISTS (SELECT FROM nodes AS node WHERE node.conductor_id = conductor.id)
      AND NOT EXISTS (
        SELECT FROM node_allocations AS allocation
        WHERE allocation.conductor_id = conductor.id AND allocation.state = 'allocating');
END
$$;
