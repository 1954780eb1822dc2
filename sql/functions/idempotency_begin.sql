-- Inserts the idempotency key of a write, before the write and in its transaction.
--
-- p_fingerprint: SHA-256 of the request. p_request: its method and path. p_status: status of the response if the write
-- succeeds. p_created_at: time of the request. p_lifetime: seconds until the key expires. The row of an expired key is replaced.
-- Raises PL070 (the key exists with this fingerprint), PL071 (with another; request and created_at in the detail). Raises
-- 40001 if another transaction deleted the row between two statements.
-- Locks: the key, until the end of the transaction. An insert waits for a concurrent transaction with the same key. It
-- comes before all other locks of the transaction, and a transaction has one key.
CREATE OR REPLACE FUNCTION idempotency_begin(
    p_caller text, p_key text, p_fingerprint bytea, p_request text, p_status int, p_created_at timestamptz,
    p_lifetime float8
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_found record;
BEGIN
    INSERT /* idempotency_begin 1/3 */ INTO idempotency_keys AS stored
        (caller, key, fingerprint, request, status, created_at, expires_at)
    VALUES (p_caller, p_key, p_fingerprint, p_request, p_status, p_created_at, now() + make_interval(secs => p_lifetime))
    ON CONFLICT (caller, key) DO NOTHING;
    IF FOUND THEN
        RETURN;
    END IF;
    UPDATE /* idempotency_begin 2/3 */ idempotency_keys AS stored
    SET fingerprint = p_fingerprint, request = p_request, status = p_status, answer = NULL, created_at = p_created_at,
        expires_at = now() + make_interval(secs => p_lifetime)
    WHERE stored.caller = p_caller AND stored.key = p_key AND stored.expires_at <= now();
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT /* idempotency_begin 3/3 */ stored.fingerprint, stored.request, stored.created_at INTO v_found
    FROM idempotency_keys AS stored WHERE stored.caller = p_caller AND stored.key = p_key;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the idempotency key was deleted concurrently' USING ERRCODE = '40001';
    END IF;
    IF v_found.fingerprint = p_fingerprint THEN
        RAISE EXCEPTION 'the idempotency key exists' USING ERRCODE = 'PL070', DETAIL = '{}';
    END IF;
    RAISE EXCEPTION 'the idempotency key belongs to another request' USING ERRCODE = 'PL071',
        DETAIL = json_build_object('request', v_found.request, 'created_at', v_found.created_at);
END
$$;
