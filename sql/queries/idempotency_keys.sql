-- The first statement of a write with an Idempotency-Key, in one batch and transaction with it. See the function.
-- name: IdempotencyBegin :exec
SELECT idempotency_begin(@caller::text, @key::text, @fingerprint::bytea, @request::text, @status::int,
    @created_at::timestamptz, @lifetime::float8);

-- Returns the first request of a key and its response. is_due: the key has expired and counts as unknown.
-- Called by the store after idempotency_begin has raised PL070, and before a write that has no room for its key.
-- Locks nothing.
-- Plan: idempotency_keys_pkey.
-- name: IdempotencyShow :one
SELECT stored.fingerprint, stored.request, stored.answer, stored.created_at,
    (stored.expires_at <= now())::bool AS is_due
FROM idempotency_keys AS stored
WHERE stored.caller = @caller::text AND stored.key = @key::text;

-- Deletes at most max_rows expired keys, the oldest first, and returns their number.
-- Called by Store.IdempotencyClean, once a minute. Locks the deleted rows; skips those that another server deletes or a
-- request replaces.
-- Plan: a range of idempotency_keys_expires_at_idx, then their row identifiers.
-- name: IdempotencyClean :execrows
DELETE FROM idempotency_keys AS stored
WHERE stored.ctid = ANY (ARRAY (
    SELECT due.ctid FROM idempotency_keys AS due WHERE due.expires_at <= now()
    ORDER BY due.expires_at LIMIT @max_rows::bigint
    FOR UPDATE SKIP LOCKED));

-- Returns the number of keys.
-- Called by Store.IdempotencyClean, once a minute. Locks nothing.
-- Plan: the whole idempotency_keys_expires_at_idx (--idempotency-rows).
-- name: IdempotencyCount :one
SELECT count(*) FROM idempotency_keys;
