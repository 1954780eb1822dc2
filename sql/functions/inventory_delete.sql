-- Deletes the inventory of one class, for any generation. See inventory_delete_checked.
--
-- Servers of earlier versions call it; a later migration drops it.
-- Raises what inventory_delete_checked raises, except PL002. Locks: as inventory_delete_checked.
-- Calls: inventory_delete_checked.
CREATE OR REPLACE FUNCTION inventory_delete(p_provider uuid, p_class text) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN inventory_delete_checked(p_provider, NULL, p_class);
END
$$;
