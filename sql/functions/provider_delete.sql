-- Deletes a provider, for any generation. See provider_delete_checked.
--
-- Servers of earlier versions call it; a later migration drops it.
-- Raises what provider_delete_checked raises, except PL002. Locks: as provider_delete_checked.
-- Calls: provider_delete_checked.
CREATE OR REPLACE FUNCTION provider_delete(p_uuid uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM /* provider_delete 1/1 */ provider_delete_checked(p_uuid, NULL);
END
$$;
