-- Updates a node's provider: its UUID and name are the node's UUID; it has one unit of the node's class,
-- and the node's traits. Does nothing if nodes are not providers or there is no such node, and does not
-- write values that are correct already.
--
-- The unit is reserved while the node cannot be assigned: it is not available, in maintenance, of unknown
-- or wrong power state, or an instance has it. p_lend: do not reserve the unit, for a claim in the same
-- transaction. It deletes units of other classes; while they are claimed, they stay, and are completely
-- reserved. It uses a provider that exists already, for example one that nova created. It inserts missing
-- classes and custom traits.
-- Raises 23505 (resource_providers_name_key: another provider has the name).
-- Locks: class and traits if they are missing, in that order; the root, then the provider. The
-- caller has locked the node, so no other request creates the same provider.
-- Calls: provider_create (if there is none), provider_lock, provider_traits_replace (if they differ),
-- inventory_write (if the unit differs), provider_bump_generation (if anything was written).
CREATE OR REPLACE FUNCTION node_provider_sync(p_node bigint, p_lend bool) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_node nodes;
    v_traits text[];
    v_locked record;
    v_class text;
    v_class_id int;
    v_reserved int := 1;
    v_changes bigint;
    v_more bigint;
BEGIN
    SELECT /* node_provider_sync 1/16 */ node.* INTO v_node FROM nodes AS node WHERE node.id = p_node;
    IF NOT FOUND OR NOT (SELECT /* node_provider_sync 2/16 */ backend.placement FROM baremetal_backend AS backend) THEN
        RETURN;
    END IF;
    v_class := node_provider_class_name(v_node.resource_class);
    INSERT /* node_provider_sync 3/16 */ INTO resource_classes (name)
    SELECT v_class
    WHERE v_class IS NOT NULL
      AND NOT EXISTS (SELECT FROM resource_classes AS class WHERE class.name = v_class)
    ON CONFLICT DO NOTHING;
    v_traits := ARRAY(SELECT /* node_provider_sync 4/16 */ existing.trait FROM node_traits AS existing
        WHERE existing.node_id = p_node ORDER BY existing.trait);
    INSERT /* node_provider_sync 5/16 */ INTO traits (name)
    SELECT requested.name FROM unnest(v_traits) AS requested (name)
    WHERE NOT EXISTS (SELECT FROM traits AS trait WHERE trait.name = requested.name)
    ORDER BY requested.name
    ON CONFLICT DO NOTHING;

    IF NOT EXISTS (SELECT /* node_provider_sync 6/16 */ FROM resource_providers AS provider
        WHERE provider.uuid = v_node.uuid) THEN
        PERFORM /* node_provider_sync 7/16 */ provider_create(v_node.uuid, v_node.uuid::text, NULL);
    END IF;
    v_locked := provider_lock(v_node.uuid, NULL, true, true);
    -- Compare first: a write of equal traits costs as much as one of other traits, and traits
    -- rarely change when a node is assigned.
    IF v_traits <> ARRAY(
        SELECT /* node_provider_sync 8/16 */ (SELECT trait.name FROM traits AS trait
            WHERE trait.id = existing.trait_id) AS name
        FROM provider_traits AS existing WHERE existing.provider_id = v_locked.provider_id ORDER BY name
    ) THEN
        PERFORM /* node_provider_sync 9/16 */ provider_traits_replace(v_node.uuid, NULL, v_traits);
    END IF;

    -- Units of other classes.
    v_class_id := (SELECT /* node_provider_sync 10/16 */ class.id FROM resource_classes AS class
        WHERE class.name = v_class);
    DELETE /* node_provider_sync 11/16 */ FROM inventories AS other
    WHERE other.provider_id = v_locked.provider_id AND other.class_id IS DISTINCT FROM v_class_id AND other.used = 0;
    GET DIAGNOSTICS v_changes = ROW_COUNT;
    UPDATE /* node_provider_sync 12/16 */ inventories AS other SET reserved = other.total, updated_at = now()
    WHERE other.provider_id = v_locked.provider_id AND other.class_id IS DISTINCT FROM v_class_id
      AND other.reserved < other.total;
    GET DIAGNOSTICS v_more = ROW_COUNT;
    v_changes := v_changes + v_more;

    -- The unit of the node's class.
    IF v_class IS NOT NULL THEN
        IF p_lend OR node_is_allocatable(v_node) AND NOT EXISTS (
                SELECT /* node_provider_sync 13/16 */ FROM inventories AS other
                WHERE other.provider_id = v_locked.provider_id AND other.class_id <> v_class_id) THEN
            v_reserved := 0;
        END IF;
        IF NOT EXISTS (
            SELECT /* node_provider_sync 14/16 */ FROM inventories AS unit
            WHERE unit.provider_id = v_locked.provider_id AND unit.class_id = v_class_id
              AND unit.total = 1 AND unit.reserved = v_reserved
              AND unit.min_unit = 1 AND unit.max_unit = 1 AND unit.step_size = 1 AND unit.allocation_ratio = 1
        ) THEN
            PERFORM /* node_provider_sync 15/16 */ inventory_write(v_locked.provider_id, v_locked.root_id,
                jsonb_build_array(jsonb_build_object(
                'class', v_class, 'total', 1, 'reserved', v_reserved,
                'min_unit', 1, 'max_unit', 1, 'step_size', 1, 'allocation_ratio', 1.0)));
            v_changes := v_changes + 1;
        END IF;
    END IF;
    IF v_changes > 0 THEN
        PERFORM /* node_provider_sync 16/16 */ provider_bump_generation(v_locked.provider_id);
    END IF;
END
$$;
