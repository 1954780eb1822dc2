-- Claims a node's unit in Placement, for the consumer with the UUID of the allocation.
--
-- p_in_use: the node is in use already, so its unit is reserved; the reservation is lifted for the claim. A
-- consumer that has an allocation on the node already, as nova's instances do, keeps it unchanged. Raises
-- PL050 (the consumer has allocations elsewhere), PL009 (the node is no provider), PL004 (no such class),
-- PL010 (it has no unit), PL012 (the unit is reserved or claimed).
-- Locks: consumer, provider. The caller has locked the node and has called node_provider_ensure_owner.
-- Calls: consumer_lock, node_provider_sync (p_in_use), allocation_resolve, allocation_lock_providers,
-- allocation_apply, and node_provider_sync again (p_in_use).
CREATE OR REPLACE FUNCTION node_provider_claim(p_allocation node_allocations, p_node bigint, p_in_use bool) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_node nodes;
    v_locked record;
    v_named record;
BEGIN
    SELECT /* node_provider_claim 1/6 */ node.* INTO v_node FROM nodes AS node WHERE node.id = p_node;
    IF node_provider_class_name(v_node.resource_class) IS NULL THEN
        RETURN;  -- only nodes in use can be without a class here; they have no unit
    END IF;
    v_locked := consumer_lock(ARRAY[p_allocation.uuid],
        ARRAY[coalesce(nullif(p_allocation.owner, ''), '00000000-0000-0000-0000-000000000000')],
        '{00000000-0000-0000-0000-000000000000}', '{BAREMETAL}', '{true}');
    IF v_locked.generations[1] >= 0 THEN
        IF p_in_use AND EXISTS (
            SELECT /* node_provider_claim 2/6 */
            FROM allocations AS claimed JOIN resource_providers AS provider ON provider.id = claimed.provider_id
            WHERE claimed.consumer_id = v_locked.ids[1] AND provider.uuid = v_node.uuid
        ) THEN
            RETURN;
        END IF;
        RAISE EXCEPTION 'consumer % has allocations already', p_allocation.uuid USING ERRCODE = 'PL050',
            DETAIL = json_build_object('consumer', p_allocation.uuid, 'allocation', p_allocation.uuid, 'node',
                v_node.uuid);
    END IF;
    IF p_in_use THEN
        PERFORM /* node_provider_claim 3/6 */ node_provider_sync(p_node, true);
    END IF;
    v_named := allocation_resolve(ARRAY[v_node.uuid], ARRAY[node_provider_class_name(v_node.resource_class)]);
    PERFORM /* node_provider_claim 4/6 */ allocation_lock_providers('{}', v_named.providers);
    PERFORM /* node_provider_claim 5/6 */ allocation_apply(v_locked.ids, v_locked.generations, v_locked.projects,
        v_locked.users, v_locked.types,
        '{1}', v_named.providers, v_named.classes, '{1}');
    IF p_in_use THEN
        PERFORM /* node_provider_claim 6/6 */ node_provider_sync(p_node, false);
    END IF;
END
$$;
