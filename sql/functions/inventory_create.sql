-- Adds the inventory of one class, for any generation. See inventory_create_checked.
--
-- Servers of earlier versions call it; a later migration drops it.
-- Raises what inventory_create_checked raises, except PL002. Locks: as inventory_create_checked.
-- Calls: inventory_create_checked.
CREATE OR REPLACE FUNCTION inventory_create(p_provider uuid, p_record jsonb, p_min_capacity int) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN inventory_create_checked(p_provider, NULL, p_record, p_min_capacity);
END
$$;
