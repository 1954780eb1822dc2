-- Locks the rows that a reshape writes, except its consumers, which the caller has locked.
--
-- Locks: the roots of the trees that get inventories FOR NO KEY UPDATE (see provider_lock_root) in the order
-- of their ids; the rows of the providers that get them FOR KEY SHARE (see provider_lock); then every
-- provider with new inventories or with new or present allocations, in the order of their ids.
-- Raises 40001 if a tree was re-parented meanwhile (see provider_lock_root). Returns the providers of the
-- request that exist; one that is created later is not locked.
CREATE OR REPLACE FUNCTION reshape_lock(p_inventories jsonb, p_consumers bigint[], p_providers uuid[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_roots bigint[];
    v_root bigint;
    v_shaped bigint[];
    v_moved bool := false;
    v_locked bigint[];
BEGIN
    SELECT /* reshape_lock 1/6 */ coalesce(array_agg(DISTINCT shape.root_id ORDER BY shape.root_id), '{}'::bigint[]),
        coalesce(array_agg(shape.provider_id), '{}'::bigint[])
    INTO v_roots, v_shaped
    FROM reshape_providers(p_inventories) AS shape WHERE shape.root_id IS NOT NULL;
    FOREACH v_root IN ARRAY v_roots LOOP
        SELECT /* reshape_lock 2/6 */ root.root_id <> v_root INTO v_moved
        FROM resource_providers AS root WHERE root.id = v_root FOR NO KEY UPDATE;
        EXIT WHEN v_moved;  -- null if a root was deleted
    END LOOP;
    IF v_moved OR EXISTS (
        SELECT /* reshape_lock 3/6 */ FROM resource_providers AS shaped
        WHERE shaped.id = ANY (v_shaped) AND shaped.root_id <> ALL (v_roots)
    ) THEN
        RAISE EXCEPTION 'trees of the providers % were re-parented concurrently', v_shaped USING ERRCODE = '40001';
    END IF;
    PERFORM /* reshape_lock 4/6 */ FROM resource_providers AS shaped WHERE shaped.id = ANY (v_shaped)
    ORDER BY shaped.id FOR KEY SHARE;
    v_locked := v_shaped
        || ARRAY(SELECT /* reshape_lock 5/6 */ provider.id FROM resource_providers AS provider
            WHERE provider.uuid = ANY (p_providers));
    PERFORM /* reshape_lock 6/6 */ allocation_lock_providers(p_consumers, v_locked);
    RETURN v_locked;
END
$$;
