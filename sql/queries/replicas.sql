-- Up to where a replica must have replayed to show every write that was answered
-- before this was asked: what is flushed, as every commit is before it is answered;
-- where commits are answered before that (synchronous_commit = off), all there is.
-- Called by Store's readIndex. Locks nothing.
-- Plan: timelines_pkey.
-- name: ReplicaPosition :one
SELECT present.lsn::text AS lsn, present.timeline::text AS timeline,
       EXISTS (SELECT FROM timelines AS known WHERE known.timeline = present.timeline)::bool AS noticed
FROM (
    SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
               THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END AS lsn,
           -- The first eight digits of the name of a WAL file are its timeline.
           left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline
) AS present;

-- Makes the primary's timeline known, once. Called by Store's readIndex.
-- name: TimelineNotice :exec
INSERT INTO timelines (timeline) VALUES (@timeline::text) ON CONFLICT DO NOTHING;

-- Whether a replica shows all that was written up to a position. It must be a
-- statement of its own, before the one that reads: a snapshot that is taken first may
-- be older than what is replayed by the time that this is answered.
-- Called by Store for each read from a replica. Locks nothing.
-- Plan: timelines_pkey.
-- name: ReplicaReached :one
SELECT pg_is_in_recovery()::bool AS standby,
       (coalesce(pg_last_wal_replay_lsn() >= CAST(@position::text AS pg_lsn), false)
           AND EXISTS (SELECT FROM timelines AS known WHERE known.timeline = @timeline::text))::bool AS reached;
