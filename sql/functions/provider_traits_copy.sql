-- Keeps resource_providers.trait_ids and provider_aggregates.sharing, which follow
-- from provider_traits: runs after every statement that inserts or deletes rows
-- there (they are never updated). Whoever runs such a statement holds the
-- provider's row FOR NO KEY UPDATE (lock_provider).
CREATE OR REPLACE FUNCTION provider_traits_copy() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_sharing int := (SELECT trait.id FROM traits AS trait WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE');
BEGIN
    UPDATE resource_providers AS provider
    SET trait_ids = ARRAY(
        SELECT present.trait_id FROM provider_traits AS present
        WHERE present.provider_id = provider.id ORDER BY present.trait_id)
    WHERE provider.id IN (SELECT changed.provider_id FROM changed);

    UPDATE provider_aggregates AS member
    SET sharing = NOT member.sharing
    WHERE member.provider_id IN (SELECT changed.provider_id FROM changed WHERE changed.trait_id = v_sharing)
      AND member.sharing <> EXISTS (
        SELECT FROM provider_traits AS present
        WHERE present.provider_id = member.provider_id AND present.trait_id = v_sharing);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER provider_traits_inserted AFTER INSERT ON provider_traits
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION provider_traits_copy();
CREATE OR REPLACE TRIGGER provider_traits_deleted AFTER DELETE ON provider_traits
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION provider_traits_copy();
