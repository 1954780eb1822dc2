-- Changes the settings of the record. Returns the state afterwards.
--
-- p_generation is compared. Turning it on begins a new log, and the state is starting until history_settle ends it. Turning it off
-- puts first in order what is committed; what is not, is not recorded. 0 days with off: history_prune then deletes all days.
-- Raises PL090 (generation). Locks: history_state. Calls: history_step.
CREATE OR REPLACE FUNCTION history_update(p_state text, p_keep_days int, p_generation bigint) RETURNS history_state
LANGUAGE plpgsql AS $$
DECLARE
    v_before history_state;
    v_after history_state;
    v_turns_on bool;
BEGIN
    PERFORM /* history_update 1/4 */ history_step(true);
    SELECT /* history_update 2/4 */ * INTO v_before FROM history_state FOR UPDATE;
    IF v_before.generation <> p_generation THEN
        RAISE EXCEPTION 'history generation' USING ERRCODE = 'PL090', DETAIL = jsonb_build_object('actual', v_before.generation, 'given', p_generation);
    END IF;
    v_turns_on := p_state = 'on' AND v_before.state = 'off';
    UPDATE /* history_update 3/4 */ history_state AS state SET generation = state.generation + 1, keep_days = p_keep_days,
        state = CASE WHEN v_turns_on THEN 'starting' WHEN p_state = 'off' THEN 'off' ELSE state.state END,
        log = CASE WHEN v_turns_on THEN gen_random_uuid() ELSE state.log END,
        since = CASE WHEN v_turns_on OR p_state = 'off' THEN NULL ELSE state.since END,
        triggers_at = CASE WHEN v_turns_on OR p_state = 'off' THEN NULL ELSE state.triggers_at END
    RETURNING * INTO v_after;
    IF v_after.state <> 'off' THEN
        INSERT /* history_update 4/4 */ INTO outbox (topic, before, after)
        VALUES ('history', jsonb_build_object('state', v_before.state, 'keep_days', v_before.keep_days, 'log', v_before.log),
            jsonb_build_object('state', p_state, 'keep_days', p_keep_days, 'log', v_after.log));
    END IF;
    RETURN v_after;
END
$$;
