-- Returns the resource classes that were renamed after an event, the last first: an array of {index, name, old}; null: none.
--
-- Changes have the names of their time, other tables those of now: history_class_then leads from both to the names at the event.
-- Called by history_inventories_at and history_allocations_at. Locks: none. Plan: history_renamed_idx; history_pending.
CREATE OR REPLACE FUNCTION history_renames(p_index bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_day date := history_day_of(p_index + 1);
BEGIN
    RETURN (
        SELECT /* history_renames 1/1 */ jsonb_agg(jsonb_build_object('index', change.index, 'name', change.class, 'old', change.old) ORDER BY change.index DESC)
        FROM (
            SELECT one.index, one.class, one.before ->> 'name' AS old FROM history AS one
            WHERE one.topic = 'class_name' AND one.before ->> 'name' IS NOT NULL AND one.index > p_index AND one.day >= v_day
            UNION ALL
            SELECT note.index, note.class, note.before ->> 'name' FROM history_pending() AS note
            WHERE note.topic = 'class_name' AND note.before ->> 'name' IS NOT NULL
        ) AS change);
END
$$;
