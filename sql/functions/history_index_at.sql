-- Returns the index of the event before the first one whose time is later than p_time: the newest one if none is later.
--
-- Times do not rise with the indexes, but all events below a mark have earlier times than it. Called by history_moment.
-- Locks: none. Plan: history_marks_at_idx, then history_index_idx from the mark on: about a minute or 5,000 events.
CREATE OR REPLACE FUNCTION history_index_at(p_time timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_low bigint := coalesce((SELECT /* history_index_at 1/2 */ one.first FROM history_marks AS one WHERE one.at <= p_time ORDER BY one.at DESC LIMIT 1), 1);
    v_day date := history_day_of(v_low);
BEGIN
    RETURN coalesce(
        (SELECT /* history_index_at 2/2 */ one.index - 1 FROM history AS one WHERE one.day >= v_day AND one.index >= v_low AND one.at > p_time
            ORDER BY one.day, one.index LIMIT 1),
        (SELECT state.newest FROM history_state AS state));
END
$$;
