-- Processes an allocation. See node_allocation_process_counted.
--
-- Servers of earlier versions call it; a later migration drops it.
-- Locks: as node_allocation_process_counted. Raises 40001, as that.
-- Calls: node_allocation_process_counted.
CREATE OR REPLACE FUNCTION node_allocation_process(p_uuid uuid, p_conductor text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM /* node_allocation_process 1/1 */ node_allocation_process_counted(p_uuid, p_conductor);
END
$$;
