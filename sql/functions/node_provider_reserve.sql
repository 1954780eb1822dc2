-- Reserves a node's unit, or offers it, where nothing else of its provider has to change:
-- what happens each time that a node is given away or comes back.
--
-- False: there is more to do, or there is no provider; nothing was written or locked, and
-- node_provider_sync does it. Raises 40001 if the provider changed in that moment: what
-- comes before its generation in the order of locks could not be locked any more.
-- Locks: the provider's generation.
CREATE OR REPLACE FUNCTION node_provider_reserve(p_node nodes) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_class text := node_provider_class(p_node.resource_class);
    v_reserved int := CASE WHEN node_provider_offered(p_node) THEN 0 ELSE 1 END;
    v_provider bigint;
    v_class_id int;
    v_found int;
BEGIN
    SELECT unit.provider_id, unit.class_id INTO v_provider, v_class_id
    FROM resource_providers AS provider
    JOIN inventories AS unit ON unit.provider_id = provider.id
    JOIN resource_classes AS class ON class.id = unit.class_id
    WHERE provider.uuid = p_node.uuid AND class.name = v_class AND unit.total = 1
      AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1;
    IF NOT FOUND OR (SELECT count(*) FROM inventories AS other WHERE other.provider_id = v_provider) > 1 THEN
        RETURN false;
    END IF;
    PERFORM FROM provider_generations AS held WHERE held.provider_id = v_provider FOR NO KEY UPDATE;

    SELECT unit.reserved INTO v_found FROM inventories AS unit
    WHERE unit.provider_id = v_provider AND unit.class_id = v_class_id AND unit.total = 1
      AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1
      AND NOT EXISTS (
        SELECT FROM inventories AS other WHERE other.provider_id = v_provider AND other.class_id <> v_class_id);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the provider of node % was changed', p_node.uuid USING ERRCODE = '40001';
    END IF;
    IF v_found <> v_reserved THEN
        UPDATE inventories SET reserved = v_reserved, updated_at = now()
        WHERE provider_id = v_provider AND class_id = v_class_id;
        PERFORM bump_provider(v_provider);
    END IF;
    RETURN true;
END
$$;
