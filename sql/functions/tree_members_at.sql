-- Returns the UUIDs of the providers that a tree had at an event: the tree in which a provider was then. Empty: it did not exist.
--
-- Candidates are the members of now and what has left the tree since. Called by tree_show_at and by the query TreeUsersAt. Locks: none.
-- Plan: history_providers_at; resource_providers_root_id_idx; history_left_root_idx; history_pending.
CREATE OR REPLACE FUNCTION tree_members_at(p_index bigint, p_provider uuid) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_day date := history_day_of(p_index + 1);
    v_root uuid := (SELECT /* tree_members_at 1/2 */ provider.root FROM history_providers_at(p_index, NULL, ARRAY[p_provider]) AS provider);
BEGIN
    RETURN ARRAY(
        SELECT /* tree_members_at 2/2 */ member.uuid FROM history_providers_at(p_index, NULL, ARRAY(
            SELECT one.uuid FROM resource_providers AS one
            WHERE one.root_id = (SELECT root.id FROM resource_providers AS root WHERE root.uuid = v_root)
            UNION
            SELECT one.provider FROM history AS one
            WHERE one.topic = 'provider' AND one.before ->> 'root' IS DISTINCT FROM one.after ->> 'root' AND one.before ->> 'root' = v_root::text
              AND one.index > p_index AND one.day >= v_day
            UNION
            SELECT change.provider FROM history_pending() AS change
            WHERE change.topic = 'provider' AND change.before ->> 'root' = v_root::text
        )) AS member
        WHERE member.root = v_root);
END
$$;
