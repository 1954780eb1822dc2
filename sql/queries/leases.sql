-- POST /leases, in one round trip. See the function. seconds is 0 for a consumer without a lease that can be renewed.
-- name: LeaseRenew :many
SELECT
    renewed.consumer::uuid AS consumer,
    COALESCE(renewed.seconds, 0)::int AS seconds,
    COALESCE(renewed.expires_at, now())::timestamptz AS expires_at,
    renewed.is_found::bool AS is_found
FROM lease_renew(@consumers::uuid[], sqlc.narg('length')::int)
    WITH ORDINALITY AS renewed (consumer, seconds, expires_at, is_found, position)
ORDER BY renewed.position;

-- Removes consumers whose leases have expired. See the function.
-- Called by Store.LeaseExpire, every --lease-interval.
-- name: LeaseExpire :one
SELECT expired.looked_at::int AS looked_at, expired.moved::int AS moved, expired.removed::jsonb AS removed
FROM lease_expire(@most::int) AS expired (looked_at, moved, removed);

-- Returns whether a lease is due. Called by Store.LeaseDue, with an audit log that each write depends on. Locks nothing.
-- Plan: leases_due_idx.
-- name: LeaseDue :one
SELECT EXISTS (SELECT FROM leases AS lease WHERE lease.due <= now());

-- Returns the number of consumers with a lease, and for how many seconds the first one has been due; 0: none is.
-- Called by Store.LeaseCount, once a minute by each server. Locks nothing.
-- Plan: the whole leases_due_idx, and its first entry.
-- name: LeaseCount :one
SELECT
    (SELECT count(*) FROM leases)::bigint AS count,
    COALESCE((SELECT GREATEST(extract(epoch FROM now() - min(lease.due)), 0) FROM leases AS lease), 0)::float8 AS overdue;
