-- Turns the record off for an import, which records nothing of its rows. An event says so, and a new log begins: events from before
-- say nothing about the imported rows. Afterwards the caller calls history_switch until it returns false. Returns whether the record was on.
--
-- Called by the query ImportHistoryEnd. Locks: history_state, and the advisory lock of steps. Calls: history_step.
CREATE OR REPLACE FUNCTION history_import() RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_before history_state;
    v_log uuid := gen_random_uuid();
BEGIN
    IF (SELECT /* history_import 1/6 */ state.state FROM history_state AS state) = 'off' THEN
        RETURN false;
    END IF;
    PERFORM /* history_import 2/6 */ history_step(true);
    SELECT /* history_import 3/6 */ * INTO v_before FROM history_state FOR UPDATE;
    IF v_before.state = 'off' THEN
        RETURN false;
    END IF;
    INSERT /* history_import 4/6 */ INTO outbox (topic, caller, before, after)
    VALUES ('history', jsonb_build_object('process', 'berth import'),
        jsonb_build_object('state', v_before.state, 'log', v_before.log), jsonb_build_object('state', 'off', 'log', v_log));
    PERFORM /* history_import 5/6 */ history_step(true);
    UPDATE /* history_import 6/6 */ history_state SET state = 'off', log = v_log, since = NULL, triggers_at = NULL, generation = generation + 1;
    RETURN true;
END
$$;
