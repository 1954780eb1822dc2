-- PUT and DELETE /v1/nodes/{node}/traits: replaces the traits of the node. Names may repeat.
--
-- Raises PL030 (no such node), PL036 (more than 50). Locks: the node. Idempotent.
-- Calls: node_lock, node_traits_check; both statements fire node_traits_sync_trigger.
CREATE OR REPLACE FUNCTION node_traits_replace(p_uuid uuid, p_name text, p_traits text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked nodes := node_lock(p_uuid, p_name);
BEGIN
    DELETE /* node_traits_replace 1/3 */ FROM node_traits AS existing
    WHERE existing.node_id = v_locked.id AND existing.trait <> ALL (p_traits);
    INSERT /* node_traits_replace 2/3 */ INTO node_traits (node_id, trait)
    SELECT DISTINCT v_locked.id, requested.trait FROM unnest(p_traits) AS requested (trait)
    ON CONFLICT DO NOTHING;
    PERFORM /* node_traits_replace 3/3 */ node_traits_check(v_locked.id, v_locked.uuid);
END
$$;
