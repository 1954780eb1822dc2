-- Locks what a reshape writes, beyond its consumers (which the caller holds).
--
-- Locks: the roots of the trees that get inventories FOR SHARE in id order,
-- again if a tree was moved meanwhile; then every provider with new inventories
-- or with new or present allocations, in id order.
CREATE OR REPLACE FUNCTION reshape_lock(p_inventories jsonb, p_consumers bigint[], p_providers uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked bigint[];
    v_roots bigint[];
BEGIN
    LOOP
        SELECT coalesce(array_agg(DISTINCT shape.root_id ORDER BY shape.root_id), '{}') INTO v_roots
        FROM reshape_shapes(p_inventories) AS shape WHERE shape.root_id IS NOT NULL;
        EXIT WHEN v_roots = v_locked;
        PERFORM FROM resource_providers AS root WHERE root.id = ANY (v_roots) ORDER BY root.id FOR SHARE;
        v_locked := v_roots;
    END LOOP;
    PERFORM allocation_lock_providers(
        p_consumers,
        ARRAY(SELECT shape.provider_id FROM reshape_shapes(p_inventories) AS shape WHERE shape.provider_id IS NOT NULL)
        || ARRAY(SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = ANY (p_providers)));
END
$$;
