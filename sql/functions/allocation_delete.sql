-- Deletes the consumer with all its allocations, for any generation. See allocation_delete_checked.
--
-- Servers of earlier versions call it; a later migration drops it.
-- Locks: as allocation_delete_checked. Returns whether the consumer existed.
-- Calls: allocation_delete_checked.
CREATE OR REPLACE FUNCTION allocation_delete(p_consumer uuid) RETURNS bool
LANGUAGE plpgsql AS $$
BEGIN
    RETURN allocation_delete_checked(p_consumer, NULL);
END
$$;
