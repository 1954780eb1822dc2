-- DELETE /v1/nodes/{ident}/traits/{trait}.
--
-- Raises PL030 (no such node), PL037 (the node doesn't have it). Locks: the node.
CREATE OR REPLACE FUNCTION node_trait_delete(p_uuid uuid, p_name text, p_trait text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_held nodes := node_lock(p_uuid, p_name);
BEGIN
    DELETE FROM node_traits AS present WHERE present.node_id = v_held.id AND present.trait = p_trait;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'node % has no trait %', v_held.uuid, p_trait USING ERRCODE = 'PL037',
            DETAIL = json_build_object('node', v_held.uuid, 'traits', p_trait);
    END IF;
END
$$;
