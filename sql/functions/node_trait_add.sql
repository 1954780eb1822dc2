-- PUT /v1/nodes/{ident}/traits/{trait}.
--
-- Raises PL030 (no such node), PL036 (it would be the 51st). Locks: the node.
-- Idempotent.
CREATE OR REPLACE FUNCTION node_trait_add(p_uuid uuid, p_name text, p_trait text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_held nodes := node_lock(p_uuid, p_name);
BEGIN
    INSERT INTO node_traits (node_id, trait) VALUES (v_held.id, p_trait) ON CONFLICT DO NOTHING;
    PERFORM node_traits_check(v_held.id, v_held.uuid);
END
$$;
