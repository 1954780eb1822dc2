-- Returns who asks, for the notes of the write behind it in the same transaction. Called by Store.retryWrite while changes are
-- recorded.
-- name: CallerSet :exec
SELECT set_config('berth.caller', @caller::text, true);

-- AllocationReplace with CallerSet in one statement: claims are most writes, and a second statement costs a tenth of one.
-- PostgreSQL evaluates the arguments of a function before it calls it.
-- Called by Store.AllocationReplace while changes are recorded.
-- name: AllocationReplaceRecorded :exec
SELECT CASE WHEN sqlc.narg('leases')::jsonb IS NOT NULL THEN lease_write(@consumers::uuid[], sqlc.narg('leases')) END
FROM allocation_replace(
    CASE WHEN set_config('berth.caller', @caller::text, true) IS NOT NULL THEN @consumers::uuid[] END, @projects::text[], @users::text[], @types::text[],
    @check_generations::bool, @generations::bigint[], @unseen::bool[],
    @owners::int[], @providers::uuid[], @classes::text[], @amounts::bigint[]);

-- ClaimCreate with CallerSet in one statement, as AllocationReplaceRecorded. asked is who asks, caller the one of the idempotency key.
-- Called by Store.ClaimCreate while changes are recorded.
-- name: ClaimCreateRecorded :one
SELECT idempotency_end(sqlc.narg('caller')::text, sqlc.narg('key')::text, jsonb_build_object('rows', jsonb_agg(claimed), 'leases',
    CASE WHEN sqlc.narg('leases')::jsonb IS NOT NULL THEN lease_write(@consumers::uuid[], sqlc.narg('leases')) END,
    'context', sqlc.narg('contexts')::jsonb -> (max(claimed.chosen) - 1)))::jsonb AS result
FROM claim_create(
    CASE WHEN set_config('berth.caller', @asked::text, true) IS NOT NULL THEN @consumers::uuid[] END,
    @projects::text[], @users::text[], @types::text[], sqlc.narg('generation')::bigint,
    @ends::int[], @providers::bigint[], @classes::int[], @amounts::bigint[],
    @guard_ends::int[], @guards::bigint[], @revisions::bigint[],
    @link_ends::int[], @anchors::bigint[], @shared::bigint[], false) AS claimed;

-- ClaimCreateNamed with CallerSet in one statement, see ClaimCreateRecorded. Called by Store.ClaimCreateNamed while changes are
-- recorded.
-- name: ClaimCreateNamedRecorded :one
SELECT idempotency_end(sqlc.narg('caller')::text, sqlc.narg('key')::text,
    jsonb_build_object('rows', jsonb_agg(claimed), 'leases',
        CASE WHEN sqlc.narg('leases')::jsonb IS NOT NULL THEN lease_write(@consumers::uuid[], sqlc.narg('leases')) END))::jsonb AS result
FROM claim_create_named(
    CASE WHEN set_config('berth.caller', @asked::text, true) IS NOT NULL THEN @consumers::uuid[] END,
    @projects::text[], @users::text[], @types::text[], sqlc.narg('generation')::bigint,
    @ends::int[], @providers::uuid[], @classes::text[], @amounts::bigint[]) AS claimed;

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

-- Returns the state of the record, and what is left to do. is_switched: history_switch has nothing to do. waiting are notes that are not in
-- order yet, and lag_seconds is the age of the oldest one; while the record is off they are of transactions that were under way when it was
-- turned off. has_old_days: history_prune would delete a day.
-- Called by Store.HistoryState, every second by each server. Locks nothing.
-- Plan: the only row; history_days, a row a day; outbox_pkey from the last step on. See the function.
-- name: HistoryState :one
SELECT state.state, state.newest,
    history_is_switched()::bool AS is_switched,
    note.waiting::bigint AS waiting,
    COALESCE(extract(epoch FROM clock_timestamp() - note.oldest_at), 0)::float8 AS lag_seconds,
    (EXISTS (
        SELECT FROM history_days AS known
        WHERE known.day < (clock_timestamp() AT TIME ZONE 'UTC')::date - state.keep_days OR state.keep_days = 0 AND state.state = 'off'
    ))::bool AS has_old_days
FROM history_state AS state
CROSS JOIN LATERAL (SELECT count(*) AS waiting, min(one.at) AS oldest_at FROM outbox AS one WHERE one.seq > state.swept) AS note;

-- See the function. Returns also the time before it: what was committed until then has an index up to newest, if it has waited for
-- another step. Called by Store.HistoryStep and Store.EventStep.
-- name: HistoryStep :one
SELECT statement_timestamp()::timestamptz AS began_at, history_step(@wait::bool)::bigint AS newest;

-- Returns the state of the record and its bounds. kept_from is the lowest index whose event is not deleted, or the one after newest.
-- Called by Store.EventBounds: before a stream of events, and after each page of one that is behind. Locks nothing.
-- Plan: the only row; history_days for its first day.
-- name: EventBounds :one
SELECT state.state, state.log, state.newest,
    COALESCE((SELECT least(first_day.first, state.newest) FROM history_days AS first_day ORDER BY first_day.day LIMIT 1), 0)::bigint AS oldest,
    COALESCE((SELECT first_day.first FROM history_days AS first_day ORDER BY first_day.day LIMIT 1), state.newest + 1)::bigint AS kept_from
FROM history_state AS state;

-- See the function. Called by Store.HistorySwitch, until it returns false.
-- name: HistorySwitch :one
SELECT history_switch()::bool AS more;

-- See the function. Called by Store.HistorySettle, every second by each server while the record begins.
-- name: HistorySettle :one
SELECT history_settle(make_interval(secs => @delay::float8))::text AS state;

-- See the function. Called by Store.HistoryPrune until it returns false.
-- name: HistoryPrune :one
SELECT history_prune()::bool AS more;

-- Returns the state of the record, and a page of events with all their changes. Parameters are those of the function history_find. The row
-- with is_next has in event_index the event with which the next page begins, and no change. Without events and next page there is
-- one row without an event.
-- Called by Store.HistoryList and Store.EventList, on the primary. Locks nothing.
-- Plan: the only row of history_state, history_days for its first day, the function; then history_index_idx for each event. OFFSET 0
-- forces that: the planner would read all days.
-- name: HistoryList :many
SELECT state.state, state.since, state.log, state.newest,
    COALESCE((SELECT least(first_day.first, state.newest) FROM history_days AS first_day ORDER BY first_day.day LIMIT 1), 0)::bigint AS oldest,
    COALESCE(oldest.began_at, 'epoch')::timestamptz AS oldest_at,
    COALESCE(event.is_next, false)::bool AS is_next, COALESCE(event.index, 0)::bigint AS event_index,
    COALESCE(change.at, 'epoch')::timestamptz AS at, COALESCE(change.topic, '')::text AS topic,
    change.provider, change.root, change.consumer, change.node, change.class, change.generation, change.project, change.previous_project,
    change.caller, change.before, change.after
FROM history_state AS state
LEFT JOIN (SELECT first_day.began_at FROM history_days AS first_day ORDER BY first_day.day LIMIT 1) AS oldest ON true
LEFT JOIN history_find(
    @descending::bool, sqlc.narg('from_index')::bigint, sqlc.narg('low')::bigint, sqlc.narg('high')::bigint,
    sqlc.narg('since')::timestamptz, sqlc.narg('until')::timestamptz,
    sqlc.narg('consumers')::uuid[], sqlc.narg('request')::text, sqlc.narg('providers')::uuid[], sqlc.narg('nodes')::uuid[],
    sqlc.narg('tree')::uuid, sqlc.narg('name')::text, sqlc.narg('caller_user')::text, sqlc.narg('project')::text,
    sqlc.narg('topics')::text[], @max_events::int, @bound::int, @max_changes::int
) AS event (place, day, index, is_next) ON true
LEFT JOIN LATERAL (
    SELECT one.place, one.at, one.topic, one.provider, one.root, one.consumer, one.node, one.class, one.generation, one.project,
        one.previous_project, one.caller, one.before, one.after
    FROM history AS one WHERE one.day = event.day AND one.index = event.index OFFSET 0
) AS change ON true
ORDER BY event.place, change.place;

-- See the function. Called by Store.TreeShowAt and Store.ConsumerShowAt, in the snapshot of the statements behind it.
-- name: HistoryMoment :one
SELECT moment.state::text AS state, moment.newest::bigint AS newest, moment.is_future::bool AS is_future, moment.is_gone::bool AS is_gone,
    COALESCE(moment.began_at, 'epoch')::timestamptz AS began_at, COALESCE(moment.first, 0)::bigint AS first,
    COALESCE(moment.index, 0)::bigint AS index, COALESCE(moment.at, 'epoch')::timestamptz AS at
FROM history_moment(sqlc.narg('at_time')::timestamptz, sqlc.narg('at_index')::bigint)
    AS moment (state, newest, is_future, is_gone, began_at, first, index, at);

-- See the function. generation and parent have no element or one. Called by Store.TreeShowAt.
-- name: TreeShowAt :many
SELECT provider.uuid::uuid AS uuid, provider.name::text AS name,
    ARRAY(SELECT provider.generation WHERE provider.generation IS NOT NULL)::bigint[] AS generation,
    ARRAY(SELECT provider.parent WHERE provider.parent IS NOT NULL)::uuid[] AS parent,
    provider.root::uuid AS root, provider.records::json AS records,
    NULLIF(provider.traits, '{}')::text[] AS traits, NULLIF(provider.aggregates, '{}')::uuid[] AS aggregates
FROM tree_show_at(@index::bigint, @began_at::timestamptz, @provider::uuid, @records::bool, @traits::bool, @aggregates::bool) WITH ORDINALITY
    AS provider (uuid, name, generation, parent, root, records, traits, aggregates, position)
ORDER BY provider.position;

-- Returns the consumers that had something at an event of a provider of the tree in which a provider was then, up to bound of them.
-- Called by Store.TreeShowAt. Locks nothing. Plan: tree_members_at, history_allocations_at.
-- name: TreeUsersAt :many
SELECT DISTINCT held.consumer::uuid AS consumer
FROM history_allocations_at(@index::bigint, tree_members_at(@index::bigint, @provider::uuid), NULL)
    AS held (consumer, provider, class, class_order, used, id, created_at)
ORDER BY consumer LIMIT @bound::bigint;

-- See the function. Columns with arrays have no element or one. Called by Store.TreeShowAt and Store.ConsumerShowAt.
-- name: ConsumersAt :many
SELECT held.consumer::uuid AS consumer, held.generation::bigint AS generation, held.project::text AS project_id, held.owner::text AS user_id,
    ARRAY(SELECT held.type WHERE held.type IS NOT NULL)::text[] AS type, held.lease::jsonb AS lease,
    ARRAY(SELECT held.created_at WHERE held.created_at IS NOT NULL)::timestamptz[] AS created_at,
    ARRAY(SELECT held.updated_at WHERE held.updated_at IS NOT NULL)::timestamptz[] AS updated_at,
    held.is_node_allocation::bool AS is_node_allocation,
    ARRAY(SELECT held.node_allocation_name WHERE held.node_allocation_name IS NOT NULL)::text[] AS node_allocation_name,
    held.provider::uuid AS provider, held.provider_name::text AS provider_name, held.root::uuid AS root,
    ARRAY(SELECT held.provider_generation WHERE held.provider_generation IS NOT NULL)::bigint[] AS provider_generation,
    held.class::text AS class, held.class_order::bigint AS class_order, held.used::bigint AS used,
    ARRAY(SELECT held.allocated_at WHERE held.allocated_at IS NOT NULL)::timestamptz[] AS allocated_at
FROM history_consumers_at(@index::bigint, @began_at::timestamptz, @consumers::uuid[]) WITH ORDINALITY
    AS held (consumer, generation, project, owner, type, lease, created_at, updated_at, is_node_allocation, node_allocation_name,
        provider, provider_name, root, provider_generation, class, class_order, used, allocated_at, position)
ORDER BY held.position;
