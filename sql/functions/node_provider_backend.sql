-- Decides whether each node is a resource provider as well.
--
-- On: every node gets its provider, and every allocation that has a node its claim,
-- unless somebody else has claimed the unit: then that claim stays, and the node
-- cannot be given away while it does. Off: the units are reserved, since nothing keeps
-- them true any more, and nothing is removed: others may have claims. Turning it on
-- again takes the providers over. Does nothing where it is so already.
-- Raises what node_provider_sync raises; what node_provider_claim refuses (PL012: the
-- unit is claimed; PL050) it leaves as it is. Locks: the owners' projects that are
-- missing, then the table of nodes against every reader who locks rows and every
-- writer, so that nobody decides by the old setting. Takes 40 s for 10,000 nodes.
-- Without enable_seqscan, since statements are planned when there is hardly a
-- provider, and the same plans then serve the last of thousands: 24 s instead of 2 s
-- for 2,000 nodes.
CREATE OR REPLACE FUNCTION node_provider_backend(p_placement bool) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_node bigint;
    v_allocation node_allocations;
BEGIN
    IF (SELECT backend.placement FROM baremetal_backend AS backend) = p_placement THEN
        RETURN;
    END IF;
    IF p_placement THEN
        PERFORM node_provider_references(owner.name)
        FROM (
            SELECT DISTINCT allocation.owner AS name FROM node_allocations AS allocation
            WHERE allocation.state = 'active' ORDER BY allocation.owner
        ) AS owner;
    END IF;
    LOCK TABLE nodes IN EXCLUSIVE MODE;
    UPDATE baremetal_backend SET placement = p_placement WHERE placement <> p_placement;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF NOT p_placement THEN
        PERFORM node_provider_retire();
        RETURN;
    END IF;
    FOR v_node IN SELECT node.id FROM nodes AS node ORDER BY node.id LOOP
        PERFORM node_provider_sync(v_node, false);
    END LOOP;
    FOR v_allocation IN
        SELECT allocation.* FROM node_allocations AS allocation
        WHERE allocation.state = 'active' ORDER BY allocation.node_id
    LOOP
        BEGIN
            PERFORM node_provider_claim(v_allocation, v_allocation.node_id, true);
        EXCEPTION
            WHEN SQLSTATE 'PL012' OR SQLSTATE 'PL050' THEN NULL;
        END;
    END LOOP;
END
$$;
