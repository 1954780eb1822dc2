-- PATCH /v1/ports/{uuid}: updates a port that was read at p_revision.
--
-- Returns the port with the next revision. Raises PL030 (no such node), PL038 (no such port), PL039 (it was
-- changed since), 23505 (ports_address_key). Locks: the node FOR KEY SHARE, then the port.
CREATE OR REPLACE FUNCTION port_update(
    p_uuid uuid, p_revision bigint, p_node uuid, p_address text, p_details jsonb
) RETURNS SETOF ports
LANGUAGE plpgsql AS $$
DECLARE
    v_node bigint;
    v_revision bigint;
    v_rule text;
BEGIN
    SELECT /* port_update 1/3 */ node.id INTO v_node FROM nodes AS node WHERE node.uuid = p_node FOR KEY SHARE;
    SELECT /* port_update 2/3 */ port.revision INTO v_revision FROM ports AS port
    WHERE port.uuid = p_uuid FOR NO KEY UPDATE;
    v_rule := CASE
        WHEN v_revision IS NULL THEN 'PL038'
        WHEN v_node IS NULL THEN 'PL030'
        WHEN v_revision <> p_revision THEN 'PL039'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'port % cannot be updated', p_uuid USING ERRCODE = v_rule,
            DETAIL = json_build_object('port', p_uuid, 'node', p_node, 'actual', v_revision, 'given', p_revision);
    END IF;
    RETURN QUERY
    UPDATE /* port_update 3/3 */ ports AS port SET
        node_id = v_node, address = p_address, details = p_details, revision = port.revision + 1, updated_at = now()
    WHERE port.uuid = p_uuid
    RETURNING port.*;
END
$$;
