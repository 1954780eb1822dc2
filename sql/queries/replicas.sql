-- Returns the WAL position up to which a replica must have replayed to show every write that was
-- acknowledged before this query: the flushed position, because PostgreSQL flushes a commit before it
-- acknowledges it; with synchronous_commit = off the insert position.
-- Called by Store's readIndex, on the primary. Locks nothing.
-- Plan: timelines_pkey.
-- name: PrimaryWALPosition :one
SELECT wal.lsn::text AS lsn, wal.timeline::text AS timeline,
       EXISTS (SELECT FROM timelines AS known WHERE known.timeline = wal.timeline)::bool AS noticed
FROM (
    SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
               THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END AS lsn,
           -- The first eight digits of the name of a WAL file are its timeline.
           left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline
) AS wal;

-- Records the primary's timeline, once. Called by Store's readIndex.
-- name: TimelineRecord :exec
INSERT INTO timelines (timeline) VALUES (@timeline::text) ON CONFLICT DO NOTHING;

-- Returns whether a replica has replayed the WAL up to a position. It must be a statement of its own,
-- before the one that reads: a snapshot that is taken first may be older than the position that is
-- compared.
-- Called by Store for each read from a replica. Locks nothing.
-- Plan: timelines_pkey.
-- name: ReplicaHasReplayed :one
SELECT pg_is_in_recovery()::bool AS standby,
       (coalesce(pg_last_wal_replay_lsn() >= CAST(@position::text AS pg_lsn), false)
           AND EXISTS (SELECT FROM timelines AS known WHERE known.timeline = @timeline::text))::bool AS reached;

-- Returns the system identifier of the primary's database cluster, and its timeline, which increases
-- by one with each promotion. No row from a standby. Called by Store's primaryFence for each new
-- connection. Locks nothing.
-- Plan: no table.
-- name: PrimaryTimeline :one
SELECT control.system_identifier::text AS system_identifier,
       left(pg_walfile_name(pg_current_wal_lsn()), 8)::text AS timeline
FROM pg_control_system() AS control
WHERE NOT pg_is_in_recovery();
