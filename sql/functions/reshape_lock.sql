-- Locks what a reshape writes, beyond its consumers (which the caller holds).
--
-- Locks: the roots of the trees that get inventories FOR SHARE in id order,
-- again if a tree was moved meanwhile; the rows of the providers that get them
-- FOR KEY SHARE (see lock_provider); then every provider with new inventories or
-- with new or present allocations, in id order.
CREATE OR REPLACE FUNCTION reshape_lock(p_inventories jsonb, p_consumers bigint[], p_providers uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked bigint[];
    v_roots bigint[];
    v_shaped bigint[];
BEGIN
    LOOP
        SELECT coalesce(array_agg(DISTINCT shape.root_id ORDER BY shape.root_id), '{}'),
            coalesce(array_agg(shape.provider_id), '{}')
        INTO v_roots, v_shaped
        FROM reshape_shapes(p_inventories) AS shape WHERE shape.root_id IS NOT NULL;
        EXIT WHEN v_roots = v_locked;
        PERFORM FROM resource_providers AS root WHERE root.id = ANY (v_roots) ORDER BY root.id FOR SHARE;
        v_locked := v_roots;
    END LOOP;
    PERFORM FROM resource_providers AS shaped WHERE shaped.id = ANY (v_shaped) ORDER BY shaped.id FOR KEY SHARE;
    PERFORM allocation_lock_providers(
        p_consumers,
        v_shaped || ARRAY(SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = ANY (p_providers)));
END
$$;
