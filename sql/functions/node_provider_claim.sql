-- Claims a node's unit in Placement, for the consumer with the allocation's uuid.
--
-- p_in_use: the node is in use already, so its unit is reserved; it is lent for the
-- claim. A consumer that has something of the node already, as nova's instances do, is left as
-- it is. Raises PL050 (the consumer has something else), PL009 (the node is no provider), PL004
-- (no such class), PL010 (it has no unit), PL012 (the unit is reserved or claimed).
-- Locks: consumer, provider. The caller holds the node and has called
-- node_provider_references.
CREATE OR REPLACE FUNCTION node_provider_claim(p_allocation node_allocations, p_node bigint, p_in_use bool) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_node nodes;
    v_held record;
    v_named record;
BEGIN
    SELECT node.* INTO v_node FROM nodes AS node WHERE node.id = p_node;
    IF node_provider_class(v_node.resource_class) IS NULL THEN
        RETURN;  -- only nodes in use get this far without a class; they have no unit
    END IF;
    v_held := consumer_lock(ARRAY[p_allocation.uuid], ARRAY[node_provider_project(p_allocation.owner)],
        ARRAY[node_provider_project(NULL)], ARRAY['BAREMETAL'], ARRAY[true]);
    IF v_held.generations[1] >= 0 THEN
        IF p_in_use AND EXISTS (
            SELECT FROM allocations AS taken JOIN resource_providers AS provider ON provider.id = taken.provider_id
            WHERE taken.consumer_id = v_held.ids[1] AND provider.uuid = v_node.uuid
        ) THEN
            RETURN;
        END IF;
        RAISE EXCEPTION 'consumer % has allocations already', p_allocation.uuid USING ERRCODE = 'PL050',
            DETAIL = json_build_object('consumer', p_allocation.uuid, 'allocation', p_allocation.uuid, 'node', v_node.uuid);
    END IF;
    IF p_in_use THEN
        PERFORM node_provider_sync(p_node, true);
    END IF;
    v_named := allocation_resolve(ARRAY[v_node.uuid], ARRAY[node_provider_class(v_node.resource_class)]);
    PERFORM allocation_lock_providers('{}', v_named.providers);
    PERFORM allocation_apply(v_held.ids, v_held.generations, v_held.projects, v_held.users, v_held.types,
        '{1}', v_named.providers, v_named.classes, '{1}');
    IF p_in_use THEN
        PERFORM node_provider_sync(p_node, false);
    END IF;
END
$$;
