-- Returns the providers that existed at an event, as they were: name, parent, root, and the generation of their last event up to then.
--
-- p_index: the event; p_began: the time from which the record is complete, null: without generations; p_providers: each once. id is that of now, null if the provider is
-- gone. generation is null if the record has none up to then.
-- Called by tree_show_at, tree_members_at and history_consumers_at. Locks: none.
-- Plan: history_later; resource_providers_uuid_key; history_provider_idx backwards, to the last row with a generation.
CREATE OR REPLACE FUNCTION history_providers_at(p_index bigint, p_began timestamptz, p_providers uuid[])
RETURNS TABLE (uuid uuid, id bigint, name text, parent uuid, root uuid, generation bigint)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_last_day date := history_day_of(p_index);
BEGIN
    RETURN QUERY
    WITH /* history_providers_at 1/1 */ later AS MATERIALIZED (
        SELECT DISTINCT ON (change.provider) change.provider, change.before
        FROM history_later(p_index, '{provider}', p_providers, NULL) AS change ORDER BY change.provider, change.index
    ), state AS (
        SELECT key.uuid, present.id,
            CASE WHEN later.provider IS NULL THEN present.name ELSE later.before ->> 'name' END AS name,
            CASE WHEN later.provider IS NULL THEN present.parent ELSE (later.before ->> 'parent')::uuid END AS parent,
            CASE WHEN later.provider IS NULL THEN present.root ELSE (later.before ->> 'root')::uuid END AS root
        FROM unnest(p_providers) AS key (uuid)
        LEFT JOIN LATERAL (
            SELECT one.id, one.name, (SELECT parent.uuid FROM resource_providers AS parent WHERE parent.id = one.parent_id) AS parent,
                (SELECT root.uuid FROM resource_providers AS root WHERE root.id = one.root_id) AS root
            FROM resource_providers AS one WHERE one.uuid = key.uuid OFFSET 0
        ) AS present ON true
        LEFT JOIN later ON later.provider = key.uuid
        WHERE CASE WHEN later.provider IS NULL THEN present.id IS NOT NULL ELSE later.before IS NOT NULL END
    )
    SELECT state.uuid, state.id, state.name, state.parent, state.root, recorded.generation
    FROM state
    LEFT JOIN LATERAL (
        SELECT one.generation FROM history AS one
        WHERE one.provider = state.uuid AND one.index <= p_index AND one.day <= v_last_day AND one.at > p_began AND one.generation IS NOT NULL
        ORDER BY one.index DESC LIMIT 1
    ) AS recorded ON true;
END
$$;
