-- Trigger: what becomes of a node becomes of its provider, in the same transaction.
--
-- Does nothing if nodes are no providers. Raises, beside what node_provider_sync and
-- provider_delete raise: PL005 (the class changes, and somebody claimed the unit through
-- Placement; the node's own allocation is no reason). Locks: as these two; whoever
-- writes nodes holds them and has released what has to be released.
CREATE OR REPLACE FUNCTION node_provider_follow() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_class text;
BEGIN
    IF NOT (SELECT backend.placement FROM baremetal_backend AS backend) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM resource_providers AS provider WHERE provider.uuid = OLD.uuid) THEN
            PERFORM provider_delete(OLD.uuid);
        END IF;
        RETURN NULL;
    END IF;

    IF TG_OP = 'UPDATE' AND NEW.resource_class IS NOT DISTINCT FROM OLD.resource_class AND node_provider_reserve(NEW) THEN
        RETURN NULL;
    END IF;
    PERFORM node_provider_sync(NEW.id, false);
    IF TG_OP = 'UPDATE' AND node_provider_class(NEW.resource_class) IS DISTINCT FROM node_provider_class(OLD.resource_class) THEN
        SELECT class.name INTO v_class
        FROM resource_providers AS provider
        JOIN allocations AS taken ON taken.provider_id = provider.id
        JOIN resource_classes AS class ON class.id = taken.class_id
        JOIN consumers AS consumer ON consumer.id = taken.consumer_id
        WHERE provider.uuid = NEW.uuid AND class.name IS DISTINCT FROM node_provider_class(NEW.resource_class)
          AND NOT EXISTS (
            SELECT FROM node_allocations AS own WHERE own.node_id = NEW.id AND own.uuid = consumer.uuid)
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'the % of node % is claimed', v_class, NEW.uuid USING ERRCODE = 'PL005',
                DETAIL = json_build_object('node', NEW.uuid, 'provider', NEW.uuid, 'class', v_class);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER nodes_provider_insert AFTER INSERT ON nodes
FOR EACH ROW EXECUTE FUNCTION node_provider_follow();
CREATE OR REPLACE TRIGGER nodes_provider_update AFTER UPDATE ON nodes
FOR EACH ROW WHEN (
    OLD.resource_class IS DISTINCT FROM NEW.resource_class OR OLD.provision_state <> NEW.provision_state
    OR OLD.instance_uuid IS DISTINCT FROM NEW.instance_uuid OR OLD.maintenance <> NEW.maintenance
    OR OLD.power_state IS DISTINCT FROM NEW.power_state)
EXECUTE FUNCTION node_provider_follow();
CREATE OR REPLACE TRIGGER nodes_provider_delete AFTER DELETE ON nodes
FOR EACH ROW EXECUTE FUNCTION node_provider_follow();
