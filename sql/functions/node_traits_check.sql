-- Rejects a node with too many traits, after they were written.
--
-- Raises PL036 (more than 50). Locks nothing: the caller has locked the node.
CREATE OR REPLACE FUNCTION node_traits_check(p_node bigint, p_uuid uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT /* node_traits_check 1/1 */ count(*) FROM node_traits AS existing
        WHERE existing.node_id = p_node) > 50 THEN
        RAISE EXCEPTION 'node % would have more than 50 traits', p_uuid USING ERRCODE = 'PL036',
            DETAIL = json_build_object('node', p_uuid);
    END IF;
END
$$;
