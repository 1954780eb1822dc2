-- Ends the state starting of the record: p_delay after the last trigger was enabled, by which time each server sends who asks with
-- its writes. Returns the state. Locks: history_state, if it changes.
CREATE OR REPLACE FUNCTION history_settle(p_delay interval) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE /* history_settle 1/2 */ history_state SET state = 'on', since = clock_timestamp()
    WHERE state = 'starting' AND triggers_at + p_delay <= clock_timestamp();
    RETURN (SELECT /* history_settle 2/2 */ state.state FROM history_state AS state);
END
$$;
