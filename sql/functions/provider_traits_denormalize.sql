-- Trigger: updates resource_providers.trait_ids and provider_aggregates.sharing from provider_traits.
--
-- Runs after every statement that inserts or deletes rows of provider_traits (only provider_reparent updates
-- them, and only root_id).
-- The caller of such a statement has locked the provider's row FOR NO KEY UPDATE (provider_lock).
--
-- It does not write rows that are correct already, so a statement that deletes and inserts writes the
-- provider's row once. If a transaction updates a row that it has already written, PostgreSQL checks the
-- row's foreign keys even if they do not change. The second write would then wait for a deletion of the
-- provider's parent or root, which may wait for a claim, which may wait for this provider's generation.
--
-- The arrays of ids keep the plans independent of the number of rows: connections keep a plan, and PostgreSQL would plan a
-- join with as many rows as the first statement changed. After a large one, each small one would read the whole table.
CREATE OR REPLACE FUNCTION provider_traits_denormalize() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_sharing int := (SELECT /* provider_traits_denormalize 1/3 */ trait.id FROM traits AS trait
        WHERE trait.name = 'MISC_SHARES_VIA_AGGREGATE');
BEGIN
    UPDATE /* provider_traits_denormalize 2/3 */ resource_providers AS provider
    SET trait_ids = ARRAY(SELECT existing.trait_id FROM provider_traits AS existing
        WHERE existing.provider_id = provider.id ORDER BY existing.trait_id)
    WHERE provider.id = ANY (ARRAY(SELECT DISTINCT changed.provider_id FROM changed))
      AND provider.trait_ids <> ARRAY(SELECT existing.trait_id FROM provider_traits AS existing
        WHERE existing.provider_id = provider.id ORDER BY existing.trait_id);

    UPDATE /* provider_traits_denormalize 3/3 */ provider_aggregates AS member
    SET sharing = NOT member.sharing
    WHERE member.provider_id = ANY (ARRAY(SELECT changed.provider_id FROM changed WHERE changed.trait_id = v_sharing))
      AND member.sharing <> EXISTS (
        SELECT FROM provider_traits AS existing
        WHERE existing.provider_id = member.provider_id AND existing.trait_id = v_sharing);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER provider_traits_inserted AFTER INSERT ON provider_traits
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION provider_traits_denormalize();
CREATE OR REPLACE TRIGGER provider_traits_deleted AFTER DELETE ON provider_traits
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION provider_traits_denormalize();
