-- Stores the body of a write's response with its idempotency key, and returns the body.
--
-- Called around the function of a write that has a body, in the transaction of idempotency_begin. p_key null: the request
-- has no key, and nothing is stored.
-- Locks nothing further: the transaction has inserted the row.
CREATE OR REPLACE FUNCTION idempotency_end(p_caller text, p_key text, p_answer jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
BEGIN
    IF p_key IS NOT NULL THEN
        UPDATE /* idempotency_end 1/1 */ idempotency_keys AS stored SET answer = p_answer
        WHERE stored.caller = p_caller AND stored.key = p_key;
    END IF;
    RETURN p_answer;
END
$$;
