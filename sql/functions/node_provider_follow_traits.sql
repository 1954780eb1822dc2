-- Trigger: a node's traits are its provider's, in the same transaction.
--
-- Runs after every statement that inserts or deletes node_traits. Does nothing if
-- nodes are no providers, and for nodes that are being deleted. Locks: as
-- node_provider_sync, in the order of the nodes; whoever writes traits holds the node.
CREATE OR REPLACE FUNCTION node_provider_follow_traits() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT backend.placement FROM baremetal_backend AS backend) THEN
        PERFORM node_provider_sync(node.id, false)
        FROM (SELECT DISTINCT changed.node_id AS id FROM changed ORDER BY changed.node_id) AS node;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER node_traits_provider_insert AFTER INSERT ON node_traits
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION node_provider_follow_traits();
CREATE OR REPLACE TRIGGER node_traits_provider_delete AFTER DELETE ON node_traits
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION node_provider_follow_traits();
