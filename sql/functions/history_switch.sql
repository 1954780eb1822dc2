-- Enables or disables the triggers of one table, as the state of the record says. Returns whether another call is needed.
--
-- With the rights of the owner of the schema, because the service cannot change tables. Each call is a transaction of its own, so
-- that writers wait for one table at a time, and at most half a second. A transaction that has written the table before has ended
-- then, and every later one runs its triggers.
-- Locks: the table SHARE ROW EXCLUSIVE, for one update of the catalog. Raises 55P03 after half a second without it.
CREATE OR REPLACE FUNCTION history_switch() RETURNS bool
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '500ms' AS $$
DECLARE
    v_on bool;
    v_table record;
BEGIN
    SELECT /* history_switch 1/4 */ state.state <> 'off' INTO v_on FROM history_state AS state FOR UPDATE;
    SELECT /* history_switch 2/4 */ found.tgrelid::regclass AS name, array_agg(found.tgname ORDER BY found.tgname) AS triggers
    INTO v_table
    FROM pg_trigger AS found JOIN pg_class AS of ON of.oid = found.tgrelid
    WHERE of.relnamespace = (SELECT own.relnamespace FROM pg_class AS own WHERE own.oid = 'outbox'::regclass)
      AND starts_with(found.tgname::text, 'history_') AND (found.tgenabled <> 'D') <> v_on
    GROUP BY found.tgrelid ORDER BY found.tgrelid LIMIT 1;
    IF v_table.name IS NULL THEN
        UPDATE /* history_switch 3/4 */ history_state SET triggers_at = clock_timestamp() WHERE v_on AND triggers_at IS NULL;
        RETURN false;
    END IF;
    EXECUTE (SELECT /* history_switch 4/4 */ format('ALTER TABLE %s ', v_table.name) || string_agg(
        format('%s TRIGGER %I', CASE WHEN v_on THEN 'ENABLE' ELSE 'DISABLE' END, item.name), ', ')
        FROM unnest(v_table.triggers) AS item (name));
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION history_switch() FROM PUBLIC;
