-- Returns the event of a time or an index: the newest one that counts at that moment; and what says whether the record has it.
--
-- p_time or p_index is null. is_future: the time has not come. began_at is the time from which the record is complete, null unless it is
-- on; is_gone: the moment is before it, and first is the first index that counts then, else null. at is the time of the event, or began_at
-- if the event is not kept.
-- Called by the query HistoryMoment. Locks: none. Plan: history_state, history_days; history_index_idx for one event; see history_index_at.
CREATE OR REPLACE FUNCTION history_moment(p_time timestamptz, p_index bigint)
RETURNS TABLE (state text, newest bigint, is_future bool, is_gone bool, began_at timestamptz, first bigint, index bigint, at timestamptz)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_state history_state;
    v_oldest history_days;
    v_began timestamptz;
    v_first bigint;
    v_index bigint := p_index;
    v_at timestamptz;
    v_gone bool;
    v_day date;
BEGIN
    SELECT /* history_moment 1/4 */ * INTO v_state FROM history_state;
    SELECT /* history_moment 2/4 */ * INTO v_oldest FROM history_days AS known ORDER BY known.day LIMIT 1;
    v_began := v_state.since;
    IF v_oldest.first > 1 AND v_oldest.began_at > v_began THEN
        v_began := v_oldest.began_at;
    END IF;
    IF v_began IS NOT NULL AND coalesce(p_index <= v_state.newest, p_time <= clock_timestamp()) THEN
        IF p_time >= v_began THEN
            v_index := history_index_at(p_time);
        END IF;
        v_day := history_day_of(v_index);
        SELECT /* history_moment 3/4 */ one.at INTO v_at FROM history AS one WHERE one.day = v_day AND one.index = v_index LIMIT 1;
        v_gone := p_time < v_began;
        IF p_time IS NULL AND (v_at IS NULL OR v_at <= v_began) OR v_gone THEN
            v_first := greatest(history_index_at(v_began) + 1, v_oldest.first);
            v_gone := v_gone OR p_index < v_first - 1;
        END IF;
    END IF;
    RETURN QUERY SELECT /* history_moment 4/4 */ v_state.state, v_state.newest, coalesce(p_time > clock_timestamp(), false), coalesce(v_gone, false),
        v_began, CASE WHEN v_gone THEN v_first END, v_index, coalesce(v_at, v_began);
END
$$;
