-- Trigger: applies the traits of a node to its provider, in the same transaction.
--
-- Runs after every statement that inserts or deletes rows of node_traits. Does nothing if nodes are not
-- providers, and for nodes that are being deleted. Locks: as node_provider_sync, in the order of the nodes;
-- the writer of the traits has locked the node.
CREATE OR REPLACE FUNCTION node_traits_sync_trigger() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT /* node_traits_sync_trigger 1/2 */ backend.placement FROM baremetal_backend AS backend) THEN
        PERFORM /* node_traits_sync_trigger 2/2 */ node_provider_sync(node.id, false)
        FROM (SELECT DISTINCT changed.node_id AS id FROM changed ORDER BY changed.node_id) AS node;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER node_traits_provider_insert AFTER INSERT ON node_traits
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION node_traits_sync_trigger();
CREATE OR REPLACE TRIGGER node_traits_provider_delete AFTER DELETE ON node_traits
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION node_traits_sync_trigger();
