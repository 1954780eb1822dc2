-- Returns who asks, for the notes of the write behind it in the same transaction. Called by Store.retryWrite while changes are
-- recorded.
-- name: CallerSet :exec
SELECT set_config('berth.caller', @caller::text, true);

-- AllocationReplace with CallerSet in one statement: claims are most writes, and a second statement costs a tenth of one. The
-- function gets its consumers from the FROM item that sets the caller, so it runs after it.
-- Called by Store.AllocationReplace while changes are recorded.
-- name: AllocationReplaceRecorded :exec
SELECT CASE WHEN sqlc.narg('leases')::jsonb IS NOT NULL THEN lease_write(@consumers::uuid[], sqlc.narg('leases')) END
FROM (SELECT set_config('berth.caller', @caller::text, true) AS caller OFFSET 0) AS asked
CROSS JOIN LATERAL allocation_replace(
    CASE WHEN asked.caller IS NOT NULL THEN @consumers::uuid[] END, @projects::text[], @users::text[], @types::text[],
    @check_generations::bool, @generations::bigint[], @unseen::bool[],
    @owners::int[], @providers::uuid[], @classes::text[], @amounts::bigint[]);

-- Returns the settings and the state of the record. waiting is the number of notes that are not in order yet, bytes the size of
-- history and outbox on disk. Called by Store.HistorySettingsShow. Locks nothing.
-- Plan: the only row; history_days for its first day.
-- name: HistorySettingsShow :one
SELECT state.state, state.keep_days, state.since, state.log, state.newest, state.generation,
    COALESCE((SELECT least(first_day.first, state.newest) FROM history_days AS first_day ORDER BY first_day.day LIMIT 1), 0)::bigint AS oldest,
    (SELECT count(*) FROM outbox AS note WHERE note.seq > state.swept)::bigint AS waiting,
    history_bytes()::bigint AS bytes
FROM history_state AS state;

-- See the function. Returns the settings after the change; oldest, waiting and bytes as they were before it, because all parts of a
-- statement have one snapshot. Called by Store.HistorySettingsUpdate.
-- name: HistorySettingsUpdate :one
SELECT state.state, state.keep_days, state.since, state.log, state.newest, state.generation,
    COALESCE((SELECT least(first_day.first, state.newest) FROM history_days AS first_day ORDER BY first_day.day LIMIT 1), 0)::bigint AS oldest,
    (SELECT count(*) FROM outbox AS note WHERE note.seq > state.swept)::bigint AS waiting,
    history_bytes()::bigint AS bytes
FROM history_update(@state::text, @keep_days::int, @generation::bigint) AS state;

-- Returns the state of the record, and what is left to do. is_switched: history_switch has nothing to do. has_rest: the record is off, and
-- there are notes of transactions that were under way when it was turned off. has_old_days: history_prune would delete a day.
-- Called by Store.HistoryState, every second by each server. Locks nothing.
-- Plan: the only row; history_days, a row a day; outbox_pkey while the record is off. See the function.
-- name: HistoryState :one
SELECT state.state,
    history_is_switched()::bool AS is_switched,
    (state.state = 'off' AND EXISTS (SELECT FROM outbox AS note WHERE note.seq > state.swept))::bool AS has_rest,
    (EXISTS (
        SELECT FROM history_days AS known
        WHERE known.day < (clock_timestamp() AT TIME ZONE 'UTC')::date - state.keep_days OR state.keep_days = 0 AND state.state = 'off'
    ))::bool AS has_old_days
FROM history_state AS state;

-- See the function. Called by Store.HistoryStep.
-- name: HistoryStep :one
SELECT history_step(@wait::bool)::bigint AS newest;

-- See the function. Called by Store.HistorySwitch, until it returns false.
-- name: HistorySwitch :one
SELECT history_switch()::bool AS more;

-- See the function. Called by Store.HistorySettle, every second by each server while the record begins.
-- name: HistorySettle :one
SELECT history_settle(make_interval(secs => @delay::float8))::text AS state;

-- See the function. Called by Store.HistoryPrune until it returns false.
-- name: HistoryPrune :one
SELECT history_prune()::bool AS more;
