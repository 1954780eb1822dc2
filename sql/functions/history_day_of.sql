-- Returns the first day that can have an index or later ones; -infinity: all days. Locks: none. Plan: history_days, a row a day.
CREATE OR REPLACE FUNCTION history_day_of(p_index bigint) RETURNS date
LANGUAGE sql STABLE AS $$
    SELECT /* history_day_of 1/1 */ coalesce(max(known.day), '-infinity') FROM history_days AS known WHERE known.first <= p_index
$$;
