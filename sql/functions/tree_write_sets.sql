-- Replaces the traits and aggregates of the providers of PUT /resource_providers/{uuid}/tree; null: they stay as they are.
--
-- p_changes: see tree_check; all traits and aggregates in it existed when the caller looked. A name that was deleted since
-- violates the foreign key (23503), and the store retries the write. The caller has created and locked the providers.
CREATE OR REPLACE FUNCTION tree_write_sets(p_root_id bigint, p_changes jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_replaced bigint[];
    v_providers bigint[];
    v_ids int[];
BEGIN
    SELECT /* tree_write_sets 1/6 */ array_agg(part.provider_id) INTO v_replaced
    FROM tree_parts(p_changes) AS part WHERE part.traits IS NOT NULL;
    IF v_replaced IS NOT NULL THEN
        SELECT /* tree_write_sets 2/6 */ array_agg(wanted.provider_id), array_agg(wanted.id) INTO v_providers, v_ids
        FROM (
            SELECT DISTINCT part.provider_id, coalesce((SELECT trait.id FROM traits AS trait
                WHERE trait.name = item.name), -1) AS id
            FROM tree_parts(p_changes) AS part CROSS JOIN jsonb_array_elements_text(part.traits) AS item (name)
        ) AS wanted;
        -- One statement for all, so that the provider's row is written once (provider_traits_denormalize).
        WITH /* tree_write_sets 3/6 */ deleted AS (
            DELETE FROM provider_traits AS existing
            WHERE existing.provider_id = ANY (v_replaced) AND (existing.provider_id, existing.trait_id) NOT IN (
                SELECT wanted.provider_id, wanted.id FROM unnest(v_providers, v_ids) AS wanted (provider_id, id))
        )
        INSERT INTO provider_traits (provider_id, trait_id, root_id)
        SELECT wanted.provider_id, wanted.id, p_root_id FROM unnest(v_providers, v_ids) AS wanted (provider_id, id)
        ORDER BY wanted.provider_id, wanted.id ON CONFLICT DO NOTHING;
    END IF;

    SELECT /* tree_write_sets 4/6 */ array_agg(part.provider_id) INTO v_replaced
    FROM tree_parts(p_changes) AS part WHERE part.aggregates IS NOT NULL;
    IF v_replaced IS NOT NULL THEN
        SELECT /* tree_write_sets 5/6 */ array_agg(wanted.provider_id), array_agg(wanted.id) INTO v_providers, v_ids
        FROM (
            SELECT DISTINCT part.provider_id, coalesce((SELECT aggregate.id FROM aggregates AS aggregate
                WHERE aggregate.uuid = item.uuid::uuid), -1) AS id
            FROM tree_parts(p_changes) AS part CROSS JOIN jsonb_array_elements_text(part.aggregates) AS item (uuid)
        ) AS wanted;
        WITH /* tree_write_sets 6/6 */ deleted AS (
            DELETE FROM provider_aggregates AS existing
            WHERE existing.provider_id = ANY (v_replaced) AND (existing.provider_id, existing.aggregate_id) NOT IN (
                SELECT wanted.provider_id, wanted.id FROM unnest(v_providers, v_ids) AS wanted (provider_id, id))
        )
        INSERT INTO provider_aggregates (provider_id, aggregate_id, root_id)
        SELECT wanted.provider_id, wanted.id, p_root_id FROM unnest(v_providers, v_ids) AS wanted (provider_id, id)
        ORDER BY wanted.provider_id, wanted.id ON CONFLICT DO NOTHING;
    END IF;
END
$$;
