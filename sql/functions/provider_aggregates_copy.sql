-- Keeps resource_providers.aggregate_ids, and provider_aggregates.sharing of new
-- memberships: runs after every statement that inserts or deletes rows in
-- provider_aggregates (they are updated by the triggers only). Whoever runs such a
-- statement holds the provider's row FOR NO KEY UPDATE (lock_provider).
CREATE OR REPLACE FUNCTION provider_aggregates_copy() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_sharing int := (SELECT trait.id FROM traits AS trait WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE');
BEGIN
    UPDATE resource_providers AS provider
    SET aggregate_ids = ARRAY(
        SELECT member.aggregate_id FROM provider_aggregates AS member
        WHERE member.provider_id = provider.id ORDER BY member.aggregate_id)
    WHERE provider.id IN (SELECT changed.provider_id FROM changed);

    UPDATE provider_aggregates AS member
    SET sharing = true
    WHERE member.provider_id IN (SELECT changed.provider_id FROM changed) AND NOT member.sharing
      AND EXISTS (
        SELECT FROM provider_traits AS present
        WHERE present.provider_id = member.provider_id AND present.trait_id = v_sharing);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER provider_aggregates_inserted AFTER INSERT ON provider_aggregates
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION provider_aggregates_copy();
CREATE OR REPLACE TRIGGER provider_aggregates_deleted AFTER DELETE ON provider_aggregates
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION provider_aggregates_copy();
