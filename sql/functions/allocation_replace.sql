-- PUT /allocations/{consumer_uuid} and POST /allocations: sets the allocations of one or more consumers, all or
-- none.
--
-- Consumers: p_consumers, p_projects, p_users, p_types (empty: unchanged). The function compares
-- p_generations and p_unseen (see consumer_check_generation) only if p_check_generations (1.28).
-- Allocations: p_owners is the position (from 1) of the consumer in p_consumers; p_providers, p_classes,
-- p_amounts. A consumer without an allocation in the request loses those that it has.
-- Raises, in this order: PL003 (consumer generation), PL009 (unknown provider), PL004 (unknown class),
-- PL010, PL011, PL012 (see allocation_raise_error).
-- Locks: projects, users, types, consumers, providers, each in the order of their keys.
--
-- Requests for one consumer have functions with few statements: allocation_claim for a new consumer on one
-- provider, which are nearly all requests; allocation_claim_providers for one on several providers;
-- allocation_change for an existing consumer. They compare each inventory with all allocations of the
-- request, so they take as long as the general functions with 300 allocations, and 1.8 times as long with
-- 1,000. The general functions handle requests with more than 100 allocations, for several consumers, for a
-- consumer without new allocations, and those for which one of the former returned false, for example
-- because the project is new.
-- Calls: allocation_claim or allocation_claim_providers; allocation_change; if they return false,
-- consumer_lock, consumer_check_generation, allocation_resolve, allocation_lock_providers, allocation_apply.
CREATE OR REPLACE FUNCTION allocation_replace(
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[],
    p_check_generations bool, p_generations bigint[], p_unseen bool[],
    p_owners int[], p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
    v_named record;
BEGIN
    IF cardinality(p_consumers) = 1 AND cardinality(p_providers) BETWEEN 1 AND 100 THEN
        IF p_unseen[1] THEN
            IF p_providers[1] = ALL (p_providers) THEN
                IF allocation_claim(p_consumers[1], p_projects[1], p_users[1], p_types[1], p_providers[1], p_classes,
                    p_amounts) THEN
                    RETURN;
                END IF;
            ELSIF allocation_claim_providers(p_consumers[1], p_projects[1], p_users[1], p_types[1], p_providers,
                p_classes, p_amounts) THEN
                RETURN;
            END IF;
        END IF;
        -- Without generations (up to 1.27), p_unseen does not exclude that the consumer exists.
        IF NOT (p_unseen[1] AND p_check_generations)
            AND allocation_change(p_consumers[1], CASE WHEN p_check_generations THEN p_generations[1] END,
                p_projects[1], p_users[1], p_types[1], p_providers, p_classes, p_amounts)
        THEN
            RETURN;
        END IF;
    END IF;
    v_locked := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    IF p_check_generations THEN
        PERFORM /* allocation_replace 1/3 */ consumer_check_generation(p_consumers, v_locked.generations,
            p_generations, p_unseen);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    PERFORM /* allocation_replace 2/3 */ allocation_lock_providers(v_locked.ids, v_named.providers);
    PERFORM /* allocation_replace 3/3 */ allocation_apply(v_locked.ids, v_locked.generations, v_locked.projects,
        v_locked.users, v_locked.types,
        p_owners, v_named.providers, v_named.classes, p_amounts);
END
$$;
