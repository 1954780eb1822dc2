-- Returns the inventories that providers had at an event, without usages. p_providers: providers that existed then, each once.
--
-- class is the name that the class had then; class_order sorts as class ids do. record has the members of history_inventory_object.
-- Called by tree_show_at. Locks: none. Plan: history_later; resource_providers_uuid_key, inventories_pkey, keys of the names.
CREATE OR REPLACE FUNCTION history_inventories_at(p_index bigint, p_providers uuid[])
RETURNS TABLE (provider uuid, class text, class_order bigint, record jsonb)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_renames jsonb := history_renames(p_index);
BEGIN
    RETURN QUERY
    WITH /* history_inventories_at 1/1 */ later AS MATERIALIZED (
        SELECT DISTINCT ON (change.provider, named.class) change.provider, named.class, change.before
        FROM history_later(p_index, '{inventory}', p_providers, NULL) AS change
        CROSS JOIN LATERAL (SELECT history_class_then(v_renames, change.class, change.index) AS class OFFSET 0) AS named
        ORDER BY change.provider, named.class, change.index
    ), present AS (
        SELECT key.uuid AS provider, history_class_then(v_renames, held.name, NULL) AS class, held.record
        FROM unnest(p_providers) AS key (uuid)
        CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.uuid = key.uuid OFFSET 0) AS existing
        CROSS JOIN LATERAL (
            SELECT (SELECT known.name FROM resource_classes AS known WHERE known.id = one.class_id) AS name, history_inventory_object(one) AS record
            FROM inventories AS one WHERE one.provider_id = existing.id OFFSET 0
        ) AS held
    )
    SELECT listed.provider, listed.class, coalesce((SELECT known.id FROM resource_classes AS known WHERE known.name = listed.class), 2147483647)::bigint,
        listed.record
    FROM (
        SELECT later.provider, later.class, later.before AS record FROM later WHERE later.before IS NOT NULL
        UNION ALL
        SELECT present.provider, present.class, present.record FROM present
        WHERE NOT EXISTS (SELECT FROM later WHERE later.provider = present.provider AND later.class = present.class)
    ) AS listed;
END
$$;
