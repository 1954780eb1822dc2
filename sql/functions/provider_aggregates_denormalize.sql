-- Trigger: updates resource_providers.aggregate_ids, and provider_aggregates.sharing of new memberships.
--
-- Runs after every statement that inserts or deletes rows of provider_aggregates (triggers update sharing, and
-- provider_reparent root_id). The caller of such a statement has locked the provider's row FOR NO KEY UPDATE
-- (provider_lock). It does not write rows that are correct already, and has arrays of ids; provider_traits_denormalize
-- explains why.
CREATE OR REPLACE FUNCTION provider_aggregates_denormalize() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_sharing int := (SELECT /* provider_aggregates_denormalize 1/3 */ trait.id FROM traits AS trait
        WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE');
BEGIN
    UPDATE /* provider_aggregates_denormalize 2/3 */ resource_providers AS provider
    SET aggregate_ids = ARRAY(SELECT existing.aggregate_id FROM provider_aggregates AS existing
        WHERE existing.provider_id = provider.id ORDER BY existing.aggregate_id)
    WHERE provider.id = ANY (ARRAY(SELECT DISTINCT changed.provider_id FROM changed))
      AND provider.aggregate_ids <> ARRAY(SELECT existing.aggregate_id FROM provider_aggregates AS existing
        WHERE existing.provider_id = provider.id ORDER BY existing.aggregate_id);

    UPDATE /* provider_aggregates_denormalize 3/3 */ provider_aggregates AS member
    SET sharing = true
    WHERE member.provider_id = ANY (ARRAY(SELECT DISTINCT changed.provider_id FROM changed)) AND NOT member.sharing
      AND EXISTS (
        SELECT FROM provider_traits AS existing
        WHERE existing.provider_id = member.provider_id AND existing.trait_id = v_sharing);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER provider_aggregates_inserted AFTER INSERT ON provider_aggregates
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION provider_aggregates_denormalize();
CREATE OR REPLACE TRIGGER provider_aggregates_deleted AFTER DELETE ON provider_aggregates
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION provider_aggregates_denormalize();
