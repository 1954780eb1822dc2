-- Locks what a reshape writes, beyond its consumers (which the caller holds).
--
-- Locks: the roots of the trees that get inventories FOR SHARE in id order; the
-- rows of the providers that get them FOR KEY SHARE (see lock_provider); then every
-- provider with new inventories or with new or present allocations, in id order.
-- Raises 40001 if a tree was moved meanwhile (see lock_root_shared). Returns the
-- providers of the request that exist: one that is made later is not locked.
CREATE OR REPLACE FUNCTION reshape_hold(p_inventories jsonb, p_consumers bigint[], p_providers uuid[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_roots bigint[];
    v_root bigint;
    v_shaped bigint[];
    v_moved bool := false;
    v_held bigint[];
BEGIN
    SELECT coalesce(array_agg(DISTINCT shape.root_id ORDER BY shape.root_id), '{}'::bigint[]),
        coalesce(array_agg(shape.provider_id), '{}'::bigint[])
    INTO v_roots, v_shaped
    FROM reshape_shapes(p_inventories) AS shape WHERE shape.root_id IS NOT NULL;
    FOREACH v_root IN ARRAY v_roots LOOP
        SELECT root.root_id <> v_root INTO v_moved
        FROM resource_providers AS root WHERE root.id = v_root FOR SHARE;
        EXIT WHEN v_moved;  -- null if it is gone
    END LOOP;
    IF v_moved OR EXISTS (
        SELECT FROM resource_providers AS shaped WHERE shaped.id = ANY (v_shaped) AND shaped.root_id <> ALL (v_roots)
    ) THEN
        RAISE EXCEPTION 'trees of the providers % have been moved', v_shaped USING ERRCODE = '40001';
    END IF;
    PERFORM FROM resource_providers AS shaped WHERE shaped.id = ANY (v_shaped) ORDER BY shaped.id FOR KEY SHARE;
    v_held := v_shaped
        || ARRAY(SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = ANY (p_providers));
    PERFORM allocation_lock_providers(p_consumers, v_held);
    RETURN v_held;
END
$$;
