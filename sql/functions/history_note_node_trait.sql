-- Trigger: notes a trait that a node got or lost.
--
-- Runs at the commit. Locks: nothing more.
CREATE OR REPLACE FUNCTION history_note_node_trait() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_old node_traits := CASE WHEN TG_OP <> 'INSERT' THEN OLD END;
    v_new node_traits := CASE WHEN TG_OP <> 'DELETE' THEN NEW END;
    v_node bigint := coalesce(v_new.node_id, v_old.node_id);
BEGIN
    INSERT /* history_note_node_trait 1/1 */ INTO outbox (topic, node_id, node, class, before, after)
    VALUES ('node_trait', v_node, (SELECT node.uuid FROM nodes AS node WHERE node.id = v_node), coalesce(v_new.trait, v_old.trait),
        CASE WHEN v_old.node_id IS NOT NULL THEN '{}'::jsonb END, CASE WHEN v_new.node_id IS NOT NULL THEN '{}'::jsonb END);
    RETURN NULL;
END
$$;
