-- Locks a node for a change, by UUID or by name (the other is null), and returns it.
--
-- All functions that change nodes call it first. Raises PL030 (no such node). Locks: the node FOR NO KEY
-- UPDATE; it returns the row as of that time.
CREATE OR REPLACE FUNCTION node_lock(p_uuid uuid, p_name text) RETURNS nodes
LANGUAGE plpgsql AS $$
DECLARE
    v_locked nodes;
BEGIN
    SELECT /* node_lock 1/1 */ node.* INTO v_locked FROM nodes AS node
    WHERE node.uuid = p_uuid OR node.name = p_name
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no node %', coalesce(p_uuid::text, p_name) USING ERRCODE = 'PL030',
            DETAIL = json_build_object('node', coalesce(p_uuid::text, p_name));
    END IF;
    RETURN v_locked;
END
$$;
