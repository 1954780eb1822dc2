-- Makes the partition of history for a day, if there is none. Called by history_step.
--
-- p_first: the first index that can be on this day. With the rights of the owner of the schema, because the service cannot create
-- tables. Locks: history against other changes of its schema; no reader and no writer waits.
CREATE OR REPLACE FUNCTION history_day(p_day date, p_first bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    v_name text := 'history_' || to_char(p_day, 'YYYYMMDD');
BEGIN
    IF EXISTS (SELECT /* history_day 1/2 */ FROM history_days AS known WHERE known.day = p_day) THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE history INCLUDING ALL)', v_name);
    EXECUTE format('ALTER TABLE history ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', v_name, p_day, p_day + 1);
    INSERT /* history_day 2/2 */ INTO history_days (day, first) VALUES (p_day, p_first);
END
$$;
REVOKE EXECUTE ON FUNCTION history_day(date, bigint) FROM PUBLIC;
