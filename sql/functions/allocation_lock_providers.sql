-- Locks every provider that a write of allocations changes: the providers that the request names and those
-- on which the consumers have allocations. These row locks make reading and updating inventories.used
-- atomic.
--
-- Locks: provider_generations FOR NO KEY UPDATE in the order of their ids. The caller has locked the
-- consumers, so their allocations cannot change. If a provider is deleted before it is locked, later
-- functions find no inventory of it.
CREATE OR REPLACE FUNCTION allocation_lock_providers(p_consumers bigint[], p_providers bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM /* allocation_lock_providers 1/1 */ FROM provider_generations AS generation_row
    WHERE generation_row.provider_id = ANY (
        p_providers || ARRAY(SELECT allocation.provider_id FROM allocations AS allocation
            WHERE allocation.consumer_id = ANY (p_consumers)))
    ORDER BY generation_row.provider_id
    FOR NO KEY UPDATE;
END
$$;
