-- Replaces the traits and aggregates of a provider for PUT /resource_providers/{uuid}/tree; null: they stay as they are.
--
-- p_traits: JSON array of names; p_aggregates: JSON array of UUIDs; all of them existed when the caller looked. A name that
-- was deleted since violates the foreign key (23503), and the store retries the write. The caller has locked the provider.
CREATE OR REPLACE FUNCTION tree_write_sets(p_provider_id bigint, p_root_id bigint, p_traits jsonb, p_aggregates jsonb)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_wanted int[];
BEGIN
    IF p_traits IS NOT NULL THEN
        v_wanted := ARRAY(SELECT /* tree_write_sets 1/4 */ DISTINCT coalesce((SELECT trait.id FROM traits AS trait
            WHERE trait.name = wanted.name), -1) FROM jsonb_array_elements_text(p_traits) AS wanted (name));
        -- One statement, so that the provider's row is written once (provider_traits_denormalize).
        WITH /* tree_write_sets 2/4 */ deleted AS (
            DELETE FROM provider_traits AS existing
            WHERE existing.provider_id = p_provider_id AND existing.trait_id <> ALL (v_wanted)
        )
        INSERT INTO provider_traits (provider_id, trait_id, root_id)
        SELECT p_provider_id, wanted.id, p_root_id FROM unnest(v_wanted) AS wanted (id) ORDER BY wanted.id
        ON CONFLICT DO NOTHING;
    END IF;
    IF p_aggregates IS NOT NULL THEN
        v_wanted := ARRAY(SELECT /* tree_write_sets 3/4 */ DISTINCT coalesce((SELECT aggregate.id
            FROM aggregates AS aggregate WHERE aggregate.uuid = wanted.uuid::uuid), -1)
            FROM jsonb_array_elements_text(p_aggregates) AS wanted (uuid));
        WITH /* tree_write_sets 4/4 */ deleted AS (
            DELETE FROM provider_aggregates AS existing
            WHERE existing.provider_id = p_provider_id AND existing.aggregate_id <> ALL (v_wanted)
        )
        INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id)
        SELECT p_provider_id, wanted.id, p_root_id FROM unnest(v_wanted) AS wanted (id) ORDER BY wanted.id
        ON CONFLICT DO NOTHING;
    END IF;
END
$$;
