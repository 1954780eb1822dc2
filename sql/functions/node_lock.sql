-- A node, held for a change: by uuid, or by name; the other is null.
--
-- Called by all functions that change nodes, before anything else. Raises PL030
-- (no such node). Locks: the node FOR NO KEY UPDATE, and returns it as it is then.
CREATE OR REPLACE FUNCTION node_lock(p_uuid uuid, p_name text) RETURNS nodes
LANGUAGE plpgsql AS $$
DECLARE
    v_held nodes;
BEGIN
    SELECT node.* INTO v_held FROM nodes AS node
    WHERE node.uuid = p_uuid OR node.name = p_name
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no node %', coalesce(p_uuid::text, p_name) USING ERRCODE = 'PL030',
            DETAIL = json_build_object('node', coalesce(p_uuid::text, p_name));
    END IF;
    RETURN v_held;
END
$$;
