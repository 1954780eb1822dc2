-- Sets whether each node is also a resource provider. Does nothing if the setting has this value already.
--
-- On: creates the provider of every node, and the claim of every allocation with a node. If another
-- consumer has claimed the unit, that claim stays, and the node cannot be assigned while it exists. Off:
-- reserves the units, because nothing updates them afterwards, and deletes nothing, because other consumers
-- may have claims. Turning it on again reuses the providers.
-- Raises what node_provider_sync raises; where node_provider_claim raises PL012 (the unit is claimed) or
-- PL050, the allocation stays without a claim. Locks: missing projects of owners; then the table nodes IN
-- EXCLUSIVE MODE, which conflicts with every writer and row lock, so that no transaction uses the old
-- setting; then, off, the providers of nodes in the order of their ids, and on, as node_provider_sync and
-- node_provider_claim.
-- Calls, on: node_provider_ensure_owner for each owner, node_provider_sync for each node,
-- node_provider_claim for each active allocation. Off: allocation_lock_providers.
-- Takes 40 s for 10,000 nodes.
-- It sets enable_seqscan off: PostgreSQL plans the statements while there are hardly any providers, and
-- uses these plans for all of them. Without the setting 2,000 nodes take 24 s instead of 2 s.
CREATE OR REPLACE FUNCTION baremetal_backend_set(p_placement bool) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_providers bigint[];
    v_node bigint;
    v_allocation node_allocations;
BEGIN
    IF (SELECT /* baremetal_backend_set 1/11 */ backend.placement FROM baremetal_backend AS backend) = p_placement THEN
        RETURN;
    END IF;
    IF p_placement THEN
        PERFORM /* baremetal_backend_set 2/11 */ node_provider_ensure_owner(owner.name)
        FROM (
            SELECT DISTINCT allocation.owner AS name FROM node_allocations AS allocation
            WHERE allocation.state = 'active' ORDER BY allocation.owner
        ) AS owner;
    END IF;
    LOCK /* baremetal_backend_set 3/11 */ TABLE nodes IN EXCLUSIVE MODE;
    UPDATE /* baremetal_backend_set 4/11 */ baremetal_backend SET placement = p_placement
    WHERE placement <> p_placement;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF NOT p_placement THEN
        v_providers := ARRAY(
            SELECT /* baremetal_backend_set 5/11 */ provider.id
            FROM resource_providers AS provider JOIN nodes AS node ON node.uuid = provider.uuid
            ORDER BY provider.id);
        PERFORM /* baremetal_backend_set 6/11 */ allocation_lock_providers('{}', v_providers);
        WITH /* baremetal_backend_set 7/11 */ changed AS (
            UPDATE inventories SET reserved = total, updated_at = now()
            WHERE provider_id = ANY (v_providers) AND reserved < total
            RETURNING provider_id
        )
        UPDATE provider_generations SET generation = generation + 1, updated_at = now()
        WHERE provider_id IN (SELECT changed.provider_id FROM changed);
        RETURN;
    END IF;
    FOR v_node IN SELECT /* baremetal_backend_set 8/11 */ node.id FROM nodes AS node ORDER BY node.id LOOP
        PERFORM /* baremetal_backend_set 9/11 */ node_provider_sync(v_node, false);
    END LOOP;
    FOR v_allocation IN
        SELECT /* baremetal_backend_set 10/11 */ allocation.* FROM node_allocations AS allocation
        WHERE allocation.state = 'active' ORDER BY allocation.node_id
    LOOP
        BEGIN
            PERFORM /* baremetal_backend_set 11/11 */ node_provider_claim(v_allocation, v_allocation.node_id, true);
        EXCEPTION
            WHEN SQLSTATE 'PL012' OR SQLSTATE 'PL050' THEN NULL;
        END;
    END LOOP;
END
$$;
