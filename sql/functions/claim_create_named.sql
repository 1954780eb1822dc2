-- POST /claims with candidates: claim_create for candidates that name providers by UUID and classes by name.
--
-- The arguments are those of claim_create. Nothing is compared but what fits.
-- Returns what claim_create returns. Raises, in this order: PL009 (unknown provider), PL004 (unknown class), and what
-- claim_create raises. Locks: see claim_create.
-- Calls: allocation_resolve, claim_create.
CREATE OR REPLACE FUNCTION claim_create_named(
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generation bigint,
    p_ends int[], p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS TABLE (
    chosen int, full_up int, stale int, held int,
    claimed_place int, claimed_generation bigint, claimed_provider uuid, claimed_provider_generation bigint,
    claimed_class text, claimed_used bigint
)
LANGUAGE plpgsql AS $$
DECLARE
    v_named record;
    v_none int[] := array_fill(0, ARRAY[cardinality(p_ends)]);
BEGIN
    v_named := allocation_resolve(p_providers, p_classes);
    RETURN QUERY SELECT /* claim_create_named 1/1 */ claimed.* FROM claim_create(p_consumers, p_projects, p_users, p_types, p_generation,
        p_ends, v_named.providers, v_named.classes, p_amounts,
        v_none, '{}', '{}', v_none, '{}', '{}', true) AS claimed;
END
$$;
