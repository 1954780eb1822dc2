-- PUT and DELETE /v1/nodes/{ident}/traits: exactly these traits. Names may repeat.
--
-- Raises PL030 (no such node), PL036 (more than 50). Locks: the node. Idempotent.
CREATE OR REPLACE FUNCTION node_traits_replace(p_uuid uuid, p_name text, p_traits text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_held nodes := node_lock(p_uuid, p_name);
BEGIN
    DELETE FROM node_traits AS present WHERE present.node_id = v_held.id AND present.trait <> ALL (p_traits);
    INSERT INTO node_traits (node_id, trait)
    SELECT DISTINCT v_held.id, wanted.trait FROM unnest(p_traits) AS wanted (trait)
    ON CONFLICT DO NOTHING;
    PERFORM node_traits_check(v_held.id, v_held.uuid);
END
$$;
