-- Returns the allocations that there were at an event, on providers or of consumers.
--
-- p_providers or p_consumers is null; each UUID once. class is the name that the class had then; class_order sorts as class ids do. id and
-- created_at are null for an allocation that has changed since.
-- Called by tree_show_at, history_consumers_at and the query TreeUsersAt. Locks: none.
-- Plan: history_later; resource_providers_uuid_key and allocations_provider_id_idx, or consumers_uuid_key and allocations_pkey; keys of the names.
CREATE OR REPLACE FUNCTION history_allocations_at(p_index bigint, p_providers uuid[], p_consumers uuid[])
RETURNS TABLE (consumer uuid, provider uuid, class text, class_order bigint, used bigint, id bigint, created_at timestamptz)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_renames jsonb := history_renames(p_index);
BEGIN
    -- A change has only the classes that it has changed: each of them, before or after.
    RETURN QUERY
    WITH /* history_allocations_at 1/1 */ later AS MATERIALIZED (
        SELECT DISTINCT ON (change.consumer, change.provider, named.class) change.consumer, change.provider, named.class,
            (change.before -> 'resources' ->> touched.class)::bigint AS used
        FROM history_later(p_index, '{allocation}', p_providers, p_consumers) AS change
        CROSS JOIN LATERAL jsonb_object_keys(coalesce(change.before -> 'resources', '{}') || coalesce(change.after -> 'resources', '{}')) AS touched (class)
        CROSS JOIN LATERAL (SELECT history_class_then(v_renames, touched.class, change.index) AS class OFFSET 0) AS named
        ORDER BY change.consumer, change.provider, named.class, change.index
    ), held AS (
        SELECT one.id, one.consumer_id, one.provider_id, one.class_id, one.used, one.created_at
        FROM unnest(p_providers) AS key (uuid)
        CROSS JOIN LATERAL (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = key.uuid OFFSET 0) AS existing
        CROSS JOIN LATERAL (SELECT allocation.* FROM allocations AS allocation WHERE allocation.provider_id = existing.id OFFSET 0) AS one
        UNION ALL
        SELECT one.id, one.consumer_id, one.provider_id, one.class_id, one.used, one.created_at
        FROM unnest(p_consumers) AS key (uuid)
        CROSS JOIN LATERAL (SELECT consumer.id FROM consumers AS consumer WHERE consumer.uuid = key.uuid OFFSET 0) AS existing
        CROSS JOIN LATERAL (SELECT allocation.* FROM allocations AS allocation WHERE allocation.consumer_id = existing.id OFFSET 0) AS one
    ), present AS (
        SELECT (SELECT one.uuid FROM consumers AS one WHERE one.id = held.consumer_id) AS consumer,
            (SELECT one.uuid FROM resource_providers AS one WHERE one.id = held.provider_id) AS provider,
            history_class_then(v_renames, (SELECT one.name FROM resource_classes AS one WHERE one.id = held.class_id), NULL) AS class,
            held.used, held.id, held.created_at
        FROM held
    )
    SELECT listed.consumer, listed.provider, listed.class,
        coalesce((SELECT known.id FROM resource_classes AS known WHERE known.name = listed.class), 2147483647)::bigint,
        listed.used, listed.id, listed.created_at
    FROM (
        SELECT later.consumer, later.provider, later.class, later.used, NULL::bigint AS id, NULL::timestamptz AS created_at
        FROM later WHERE later.used IS NOT NULL
        UNION ALL
        SELECT present.* FROM present
        WHERE NOT EXISTS (
            SELECT FROM later WHERE later.consumer = present.consumer AND later.provider = present.provider AND later.class = present.class)
    ) AS listed;
END
$$;
