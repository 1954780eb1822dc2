-- Reserves the units of all nodes, which will not follow the nodes any more.
--
-- Called by node_provider_backend, which holds the table of nodes. Locks: the
-- providers of nodes, in the order of their ids.
CREATE OR REPLACE FUNCTION node_provider_retire() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_providers bigint[] := ARRAY(
        SELECT provider.id FROM resource_providers AS provider JOIN nodes AS node ON node.uuid = provider.uuid
        ORDER BY provider.id);
BEGIN
    PERFORM allocation_lock_providers('{}', v_providers);
    WITH changed AS (
        UPDATE inventories SET reserved = total, updated_at = now()
        WHERE provider_id = ANY (v_providers) AND reserved < total
        RETURNING provider_id
    )
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id IN (SELECT changed.provider_id FROM changed);
END
$$;
