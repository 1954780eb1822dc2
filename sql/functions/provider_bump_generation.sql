-- Increments a provider's generation and returns the new one. The caller has locked the provider
-- (provider_lock).
CREATE OR REPLACE FUNCTION provider_bump_generation(p_provider_id bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_generation bigint;
BEGIN
    UPDATE /* provider_bump_generation 1/1 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = p_provider_id
    RETURNING generation INTO v_generation;
    RETURN v_generation;
END
$$;
