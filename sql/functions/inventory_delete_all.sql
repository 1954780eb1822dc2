-- Deletes all inventories of a provider, for any generation. See inventory_delete_all_checked.
--
-- Servers of earlier versions call it; a later migration drops it.
-- Raises what inventory_delete_all_checked raises, except PL002. Locks: as inventory_delete_all_checked.
-- Calls: inventory_delete_all_checked.
CREATE OR REPLACE FUNCTION inventory_delete_all(p_provider uuid) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN inventory_delete_all_checked(p_provider, NULL);
END
$$;
