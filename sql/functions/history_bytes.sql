-- Returns the size of the record on disk, with its indexes and the notes that are not in order yet. Called by HistorySettingsShow.
CREATE OR REPLACE FUNCTION history_bytes() RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT /* history_bytes 1/1 */ (pg_total_relation_size('outbox') + coalesce(sum(pg_total_relation_size(part.inhrelid)), 0))::bigint
    FROM pg_inherits AS part WHERE part.inhparent = 'history'::regclass
$$;
