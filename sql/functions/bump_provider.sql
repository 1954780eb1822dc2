-- Adds one to a provider's generation and returns the new one.
-- The caller holds the provider's lock (lock_provider).
CREATE OR REPLACE FUNCTION bump_provider(p_provider_id bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_generation bigint;
BEGIN
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = p_provider_id
    RETURNING generation INTO v_generation;
    RETURN v_generation;
END
$$;
