-- PATCH /allocations/{consumer_uuid} without a lease. See allocation_patch_leased.
--
-- Servers of earlier versions call it; a later migration drops it.
-- Locks: as allocation_patch_leased, without the lease.
-- Calls: allocation_patch_leased.
CREATE OR REPLACE FUNCTION allocation_patch(
    p_consumer uuid, p_generation bigint, p_project text, p_user text, p_type text,
    p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS TABLE (
    shown_position bigint, shown_provider uuid, shown_provider_generation bigint, shown_class text, shown_used bigint,
    shown_project text, shown_user text, shown_generation bigint, shown_type text
)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT /* allocation_patch 1/1 */ patched.shown_position, patched.shown_provider, patched.shown_provider_generation,
        patched.shown_class, patched.shown_used, patched.shown_project, patched.shown_user, patched.shown_generation, patched.shown_type
    FROM allocation_patch_leased(p_consumer, p_generation, p_project, p_user, p_type, p_providers, p_classes, p_amounts, NULL) AS patched;
END
$$;
