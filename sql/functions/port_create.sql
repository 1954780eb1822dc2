-- POST /v1/ports: creates a port of a node.
--
-- Returns the port. Raises PL030 (no such node), 23505 (ports_uuid_key, ports_address_key). Locks: the node
-- FOR KEY SHARE, so that it is not deleted. Not idempotent: a second call violates the unique constraints.
CREATE OR REPLACE FUNCTION port_create(p_uuid uuid, p_node uuid, p_address text, p_details jsonb) RETURNS SETOF ports
LANGUAGE plpgsql AS $$
DECLARE
    v_node bigint;
BEGIN
    SELECT /* port_create 1/2 */ node.id INTO v_node FROM nodes AS node WHERE node.uuid = p_node FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no node %', p_node USING ERRCODE = 'PL030', DETAIL = json_build_object('node', p_node);
    END IF;
    RETURN QUERY
    INSERT /* port_create 2/2 */ INTO ports (uuid, node_id, address, details)
        VALUES (p_uuid, v_node, p_address, p_details)
    RETURNING ports.*;
END
$$;
