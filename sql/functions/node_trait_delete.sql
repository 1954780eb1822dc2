-- DELETE /v1/nodes/{node}/traits/{trait}.
--
-- Raises PL030 (no such node), PL037 (the node doesn't have it). Locks: the node.
-- Calls: node_lock; the deletion fires node_traits_sync_trigger.
CREATE OR REPLACE FUNCTION node_trait_delete(p_uuid uuid, p_name text, p_trait text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, p_name);
BEGIN
    DELETE /* node_trait_delete 1/1 */ FROM node_traits AS existing
    WHERE existing.node_id = v_locked.id AND existing.trait = p_trait;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'node % has no trait %', v_locked.uuid, p_trait USING ERRCODE = 'PL037',
            DETAIL = json_build_object('node', v_locked.uuid, 'traits', p_trait);
    END IF;
END
$$;
