-- Deletes the oldest day of the record that is no longer kept. Returns whether there was one: call it again.
--
-- A day is kept for keep_days whole days after it. With 0 days and the record off, all days are deleted. With the rights of the owner
-- of the schema, because the service cannot drop tables.
-- Locks: history, ACCESS EXCLUSIVE, for one update of the catalog. It waits for readers of history for at most 10 ms, because others
-- queue behind it, and raises 55P03 then. The files are deleted after the locks are released.
CREATE OR REPLACE FUNCTION history_prune() RETURNS bool
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '10ms' AS $$
DECLARE
    v_day date;
BEGIN
    SELECT /* history_prune 1/3 */ min(known.day) INTO v_day FROM history_days AS known, history_state AS state
    WHERE known.day < (clock_timestamp() AT TIME ZONE 'UTC')::date - state.keep_days OR state.keep_days = 0 AND state.state = 'off';
    IF v_day IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE %I', 'history_' || to_char(v_day, 'YYYYMMDD'));
    DELETE /* history_prune 2/3 */ FROM history_days WHERE day = v_day;
    DELETE /* history_prune 3/3 */ FROM history_marks AS mark
    WHERE mark.first < (SELECT coalesce(min(known.first), 9223372036854775807) FROM history_days AS known);
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION history_prune() FROM PUBLIC;
