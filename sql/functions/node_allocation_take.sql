-- Gives a node to an allocation, if it still fits and the allocation is still to be
-- decided.
--
-- False: somebody else holds the node (only without p_wait). True: done, or there is
-- nothing to be done any more: the allocation was deleted or taken over. Raises
-- no_data_found if the node doesn't fit any more, what node_provider_claim raises,
-- 23505 (nodes_instance_uuid_key), and 40001 if nodes became, or are no longer,
-- providers since p_unit was looked up. The caller catches the first of these.
-- Locks: the node FOR UPDATE, the allocation FOR UPDATE, then as node_provider_claim.
CREATE OR REPLACE FUNCTION node_allocation_take(
    p_wanted node_allocations, p_unit int, p_node bigint, p_wait bool
) RETURNS bool
LANGUAGE plpgsql AS $$
BEGIN
    IF p_wait THEN
        PERFORM FROM nodes AS node WHERE node.id = p_node FOR UPDATE;
    ELSE
        PERFORM FROM nodes AS node WHERE node.id = p_node FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END IF;
    IF (SELECT backend.placement FROM baremetal_backend AS backend) <> (p_unit IS NOT NULL) THEN
        RAISE EXCEPTION 'the backend was changed' USING ERRCODE = '40001';
    END IF;
    IF node_allocation_fits(p_wanted, p_unit, ARRAY[p_node]) = '{}' THEN
        RAISE no_data_found;
    END IF;
    PERFORM FROM node_allocations AS allocation
    WHERE allocation.id = p_wanted.id AND allocation.state = 'allocating' AND allocation.conductor_id = p_wanted.conductor_id
    FOR UPDATE;
    IF FOUND THEN
        IF p_unit IS NOT NULL THEN
            PERFORM node_provider_claim(p_wanted, p_node, false);
        END IF;
        PERFORM node_allocation_give(p_wanted, p_node);
    END IF;
    RETURN true;
END
$$;
