-- Returns the providers of the tree in which a provider was at an event, as they were. No row: it did not exist.
--
-- p_index: the event; p_began: the time from which the record is complete; p_records, p_traits, p_aggregates: the parts. Columns are as in the
-- query TreeShow, without sharing providers; generation is null if the record has none up to then. What is gone comes last in each order.
-- Called by the query TreeShowAt. Locks: none.
-- Plan: tree_members_at, history_providers_at, history_inventories_at, history_allocations_at, history_later; keys of the names.
CREATE OR REPLACE FUNCTION tree_show_at(p_index bigint, p_began timestamptz, p_provider uuid, p_records bool, p_traits bool, p_aggregates bool)
RETURNS TABLE (uuid uuid, name text, generation bigint, parent uuid, root uuid, records json, traits text[], aggregates uuid[])
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_members uuid[] := tree_members_at(p_index, p_provider);
    v_recorded uuid[] := CASE WHEN p_records THEN v_members ELSE '{}' END;
BEGIN
    RETURN QUERY
    WITH /* tree_show_at 1/1 */ sums AS MATERIALIZED (
        SELECT held.provider, held.class, sum(held.used)::bigint AS used
        FROM history_allocations_at(p_index, v_recorded, NULL) AS held GROUP BY held.provider, held.class
    ), records_then AS MATERIALIZED (
        SELECT one.provider, json_agg(jsonb_build_object('class', one.class, 'used', coalesce(sums.used, 0)) || one.record
            ORDER BY one.class_order, one.class) AS found
        FROM history_inventories_at(p_index, v_recorded) AS one
        LEFT JOIN sums ON sums.provider = one.provider AND sums.class = one.class
        GROUP BY one.provider
    ), sets AS MATERIALIZED (
        SELECT DISTINCT ON (change.provider, change.topic) change.provider, change.topic, change.before
        FROM history_later(p_index, '{aggregate,trait}', v_members, NULL) AS change ORDER BY change.provider, change.topic, change.index
    )
    SELECT member.uuid, member.name, member.generation, member.parent, member.root, records_then.found,
        CASE WHEN p_traits THEN CASE WHEN trait_set.provider IS NULL THEN provider_trait_names(member.id) ELSE ARRAY(
            SELECT item.name FROM jsonb_array_elements_text(trait_set.before) AS item (name)
            ORDER BY (SELECT known.id FROM traits AS known WHERE known.name = item.name), item.name) END END,
        CASE WHEN p_aggregates THEN CASE WHEN aggregate_set.provider IS NULL THEN provider_aggregate_uuids(member.id) ELSE ARRAY(
            SELECT item.uuid::uuid FROM jsonb_array_elements_text(aggregate_set.before) AS item (uuid)
            ORDER BY (SELECT known.id FROM aggregates AS known WHERE known.uuid = item.uuid::uuid), item.uuid) END END
    FROM history_providers_at(p_index, p_began, v_members) AS member
    LEFT JOIN records_then ON records_then.provider = member.uuid
    LEFT JOIN sets AS trait_set ON trait_set.provider = member.uuid AND trait_set.topic = 'trait'
    LEFT JOIN sets AS aggregate_set ON aggregate_set.provider = member.uuid AND aggregate_set.topic = 'aggregate'
    ORDER BY member.id, member.uuid;
END
$$;
