-- Locks every provider that a write of allocations touches: those named now and
-- those that the consumers use so far. Their row locks are what makes reading
-- used and adding to it one step.
--
-- Locks: provider_generations in id order FOR NO KEY UPDATE. The caller holds
-- the consumers, so what they use does not change meanwhile. A provider deleted
-- before its lock was had shows later as one without inventory.
CREATE OR REPLACE FUNCTION allocation_lock_providers(p_consumers bigint[], p_providers bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM provider_generations AS held
    WHERE held.provider_id = ANY (
        p_providers || ARRAY(SELECT taken.provider_id FROM allocations AS taken WHERE taken.consumer_id = ANY (p_consumers)))
    ORDER BY held.provider_id
    FOR NO KEY UPDATE;
END
$$;
