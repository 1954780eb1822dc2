-- PUT /allocations/{consumer} and POST /allocations: exactly these allocations
-- for some consumers, all or nothing.
--
-- Consumers: p_consumers, p_projects, p_users, p_types (empty: leave it);
-- p_generations and p_unseen (see consumer_check_generation) are compared only
-- if p_check_generations (1.28).
-- Allocations: p_owners says for each the place (from 1) of its consumer in
-- p_consumers; p_providers, p_classes, p_amounts. A consumer that owns none
-- loses what it has.
-- Raises, in this order: PL003 (consumer generation), PL009 (unknown provider),
-- PL004 (unknown class), PL010, PL011, PL012 (see allocation_refuse).
-- Locks: projects, users, types, consumers, providers, each in key order.
--
-- What nearly every request asks for, something for one new consumer of one
-- provider, is left to allocation_claim.
CREATE OR REPLACE FUNCTION allocation_replace(
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[],
    p_check_generations bool, p_generations bigint[], p_unseen bool[],
    p_owners int[], p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_held record;
    v_named record;
BEGIN
    IF cardinality(p_consumers) = 1 AND p_unseen[1] AND cardinality(p_providers) > 0
        AND p_providers[1] = ALL (p_providers)
    THEN
        IF allocation_claim(p_consumers[1], p_projects[1], p_users[1], p_types[1], p_providers[1], p_classes, p_amounts) THEN
            RETURN;
        END IF;
    END IF;
    v_held := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    IF p_check_generations THEN
        PERFORM consumer_check_generation(p_consumers, v_held.generations, p_generations, p_unseen);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    PERFORM allocation_lock_providers(v_held.ids, v_named.providers);
    PERFORM allocation_apply(v_held.ids, v_held.generations, v_held.projects, v_held.users, v_held.types,
        p_owners, v_named.providers, v_named.classes, p_amounts);
END
$$;
