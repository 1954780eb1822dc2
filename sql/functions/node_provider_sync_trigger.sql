-- Trigger: applies a change of a node to its provider, in the same transaction.
--
-- Does nothing if nodes are not providers. If only the reserved amount of the unit changes, which is the
-- case whenever a node is assigned or released, it writes nothing else.
-- Raises what node_provider_sync and provider_delete_checked raise, and: PL005 (the class changes, and another
-- consumer claimed the unit through Placement; the node's own allocation does not count); 40001 if the
-- provider changed at that moment: the lock order does not permit to lock what comes before its generation
-- any more.
-- Locks: the provider's generation, or as the functions that it calls. The function that writes nodes has
-- locked them and has released their allocations before.
-- Calls: provider_delete_checked for a deleted node; otherwise provider_bump_generation, if only the reserved
-- amount changes; otherwise node_provider_sync.
CREATE OR REPLACE FUNCTION node_provider_sync_trigger() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_class text;
    v_reserved int;
    v_provider bigint;
    v_class_id int;
    v_found int;
    v_claimed text;
BEGIN
    IF NOT (SELECT /* node_provider_sync_trigger 1/11 */ backend.placement FROM baremetal_backend AS backend) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT /* node_provider_sync_trigger 2/11 */ FROM resource_providers AS provider
            WHERE provider.uuid = OLD.uuid) THEN
            PERFORM /* node_provider_sync_trigger 3/11 */ provider_delete_checked(OLD.uuid, NULL);
        END IF;
        RETURN NULL;
    END IF;
    v_class := node_provider_class_name(NEW.resource_class);

    -- Only the reserved amount changes.
    IF TG_OP = 'UPDATE' AND NEW.resource_class IS NOT DISTINCT FROM OLD.resource_class THEN
        SELECT /* node_provider_sync_trigger 4/11 */ unit.provider_id, unit.class_id INTO v_provider, v_class_id
        FROM resource_providers AS provider
        JOIN inventories AS unit ON unit.provider_id = provider.id
        JOIN resource_classes AS class ON class.id = unit.class_id
        WHERE provider.uuid = NEW.uuid AND class.name = v_class AND unit.total = 1
          AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1;
        IF FOUND AND (SELECT /* node_provider_sync_trigger 5/11 */ count(*) FROM inventories AS other
            WHERE other.provider_id = v_provider) <= 1 THEN
            PERFORM /* node_provider_sync_trigger 6/11 */ FROM provider_generations AS generation_row
            WHERE generation_row.provider_id = v_provider FOR NO KEY UPDATE;
            SELECT /* node_provider_sync_trigger 7/11 */ unit.reserved INTO v_found FROM inventories AS unit
            WHERE unit.provider_id = v_provider AND unit.class_id = v_class_id AND unit.total = 1
              AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1
              AND NOT EXISTS (
                SELECT FROM inventories AS other WHERE other.provider_id = v_provider AND other.class_id <> v_class_id);
            IF NOT FOUND THEN
                RAISE EXCEPTION 'the provider of node % was changed concurrently', NEW.uuid USING ERRCODE = '40001';
            END IF;
            v_reserved := CASE WHEN node_is_allocatable(NEW) THEN 0 ELSE 1 END;
            IF v_found <> v_reserved THEN
                UPDATE /* node_provider_sync_trigger 8/11 */ inventories SET reserved = v_reserved, updated_at = now()
                WHERE provider_id = v_provider AND class_id = v_class_id;
                PERFORM /* node_provider_sync_trigger 9/11 */ provider_bump_generation(v_provider);
            END IF;
            RETURN NULL;
        END IF;
    END IF;

    -- Other values change too.
    PERFORM /* node_provider_sync_trigger 10/11 */ node_provider_sync(NEW.id, false);
    IF TG_OP = 'UPDATE' AND v_class IS DISTINCT FROM node_provider_class_name(OLD.resource_class) THEN
        SELECT /* node_provider_sync_trigger 11/11 */ class.name INTO v_claimed
        FROM resource_providers AS provider
        JOIN allocations AS claimed ON claimed.provider_id = provider.id
        JOIN resource_classes AS class ON class.id = claimed.class_id
        JOIN consumers AS consumer ON consumer.id = claimed.consumer_id
        WHERE provider.uuid = NEW.uuid AND class.name IS DISTINCT FROM v_class
          AND NOT EXISTS (
            SELECT FROM node_allocations AS own WHERE own.node_id = NEW.id AND own.uuid = consumer.uuid)
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'the % of node % is claimed', v_claimed, NEW.uuid USING ERRCODE = 'PL005',
                DETAIL = json_build_object('node', NEW.uuid, 'provider', NEW.uuid, 'class', v_claimed);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER nodes_provider_insert AFTER INSERT ON nodes
FOR EACH ROW EXECUTE FUNCTION node_provider_sync_trigger();
CREATE OR REPLACE TRIGGER nodes_provider_update AFTER UPDATE ON nodes
FOR EACH ROW WHEN (
    OLD.resource_class IS DISTINCT FROM NEW.resource_class OR OLD.provision_state <> NEW.provision_state
    OR OLD.instance_uuid IS DISTINCT FROM NEW.instance_uuid OR OLD.maintenance <> NEW.maintenance
    OR OLD.power_state IS DISTINCT FROM NEW.power_state)
EXECUTE FUNCTION node_provider_sync_trigger();
CREATE OR REPLACE TRIGGER nodes_provider_delete AFTER DELETE ON nodes
FOR EACH ROW EXECUTE FUNCTION node_provider_sync_trigger();
