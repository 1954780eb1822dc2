-- Renames and re-parents a provider, for any generation. See provider_update_checked.
--
-- Servers of earlier versions call it; a later migration drops it.
-- Raises what provider_update_checked raises, except PL002. Locks: as provider_update_checked.
-- Calls: provider_update_checked.
CREATE OR REPLACE FUNCTION provider_update(
    p_uuid uuid, p_name text, p_set_parent bool, p_parent uuid, p_may_reparent bool,
    OUT generation bigint, OUT parent_uuid uuid, OUT root_uuid uuid, OUT updated_before timestamptz
)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT /* provider_update 1/1 */ updated.generation, updated.parent_uuid, updated.root_uuid, updated.updated_before
    INTO generation, parent_uuid, root_uuid, updated_before
    FROM provider_update_checked(p_uuid, NULL, p_name, p_set_parent, p_parent, p_may_reparent) AS updated;
END
$$;
