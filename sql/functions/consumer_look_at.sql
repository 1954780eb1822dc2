-- Returns consumers without filters on leases. See consumer_find.
--
-- Servers of earlier versions call it; a later migration drops it.
-- Calls: consumer_find. Locks nothing.
CREATE OR REPLACE FUNCTION consumer_look_at(
    p_descending bool, p_from bigint, p_low uuid, p_high uuid, p_bound bigint,
    p_uuids uuid[], p_project text, p_user text, p_type text,
    p_providers uuid[], p_tree uuid, p_classes text[], p_trait text,
    p_created_before timestamptz, p_created_after timestamptz, p_updated_before timestamptz, p_updated_after timestamptz
) RETURNS TABLE (rank bigint, id bigint, is_last bool)
LANGUAGE sql STABLE AS $$
SELECT /* consumer_look_at 1/1 */ looked.rank, looked.id, looked.is_last FROM consumer_find(
    p_descending, p_from, p_low, p_high, p_bound, p_uuids, p_project, p_user, p_type,
    p_providers, p_tree, p_classes, p_trait, p_created_before, p_created_after, p_updated_before, p_updated_after,
    NULL, NULL, NULL, NULL
) AS looked
$$;
