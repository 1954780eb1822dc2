-- Returns whether the triggers of all tables are enabled or disabled as the state of the record says: history_switch has nothing to do.
-- Called by HistoryState, every second by each server. Locks: none. Plan: one scan of pg_trigger, 120 rows: 0.2 ms (EXPLAIN ANALYZE).
CREATE OR REPLACE FUNCTION history_is_switched() RETURNS bool
LANGUAGE sql STABLE AS $$
    SELECT /* history_is_switched 1/1 */ NOT EXISTS (
        SELECT FROM pg_trigger AS found
        WHERE starts_with(found.tgname::text, 'history_') AND (found.tgenabled = 'D') <> (SELECT state.state = 'off' FROM history_state AS state)
          AND (SELECT of.relnamespace FROM pg_class AS of WHERE of.oid = found.tgrelid)
            = (SELECT own.relnamespace FROM pg_class AS own WHERE own.oid = 'outbox'::regclass))
$$;
