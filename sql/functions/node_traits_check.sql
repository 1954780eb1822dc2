-- Refuses a node with too many traits, after they were written.
--
-- Raises PL036 (more than 50). Locks nothing: the caller holds the node.
CREATE OR REPLACE FUNCTION node_traits_check(p_node bigint, p_uuid uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM node_traits AS present WHERE present.node_id = p_node) > 50 THEN
        RAISE EXCEPTION 'node % would have more than 50 traits', p_uuid USING ERRCODE = 'PL036',
            DETAIL = json_build_object('node', p_uuid);
    END IF;
END
$$;
