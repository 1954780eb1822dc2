-- PUT /v1/nodes/{node}/traits/{trait}.
--
-- Raises PL030 (no such node), PL036 (it would be the 51st). Locks: the node. Idempotent.
-- Calls: node_lock, node_traits_check; the insertion fires node_traits_sync_trigger.
CREATE OR REPLACE FUNCTION node_trait_add(p_uuid uuid, p_name text, p_trait text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, p_name);
BEGIN
    INSERT /* node_trait_add 1/2 */ INTO node_traits (node_id, trait)
        VALUES (v_locked.id, p_trait) ON CONFLICT DO NOTHING;
    PERFORM /* node_trait_add 2/2 */ node_traits_check(v_locked.id, v_locked.uuid);
END
$$;
