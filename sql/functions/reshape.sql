-- POST /reshaper: changes inventories and the allocations on them in one transaction.
--
-- p_inventories: JSON array of {provider, generation, records}, records as in inventory_write. The other
-- arguments are those of allocation_replace. It first writes the union of the old and new inventories of
-- every provider, then the allocations, then deletes the inventories that are not among the new ones.
-- Raises, in this order: PL001 (unknown provider among the inventories), PL002 (its generation), PL003
-- (consumer generation), PL009 (unknown provider among the allocations), PL004 (unknown class), PL010,
-- PL011, PL012 (see allocation_raise_error), PL005 (a dropped inventory is in use).
-- Locks: projects, users, types, consumers, roots FOR NO KEY UPDATE, providers, each in the order of their
-- keys, before any check.
-- Calls: consumer_lock, reshape_lock, reshape_check_generations, consumer_check_generation,
-- allocation_resolve, inventory_write for each provider, allocation_apply, inventory_delete_except for each
-- provider.
CREATE OR REPLACE FUNCTION reshape(
    p_inventories jsonb,
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[],
    p_check_generations bool, p_generations bigint[], p_unseen bool[],
    p_owners int[], p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked record;
    v_providers bigint[];
    v_named record;
    v_shape record;
BEGIN
    v_locked := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    v_providers := reshape_lock(p_inventories, v_locked.ids, p_providers);
    PERFORM /* reshape 1/10 */ reshape_check_generations(p_inventories, v_providers);
    IF p_check_generations THEN
        PERFORM /* reshape 2/10 */ consumer_check_generation(p_consumers, v_locked.generations, p_generations,
            p_unseen);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    IF EXISTS (SELECT /* reshape 3/10 */ unnest(v_named.providers) EXCEPT SELECT unnest(v_providers)) THEN
        RAISE EXCEPTION 'a provider of the request was created concurrently' USING ERRCODE = '40001';
    END IF;

    FOR v_shape IN SELECT /* reshape 4/10 */ * FROM reshape_providers(p_inventories)
        WHERE jsonb_array_length(records) > 0 LOOP
        PERFORM /* reshape 5/10 */ inventory_write(v_shape.provider_id, v_shape.root_id, v_shape.records);
        PERFORM /* reshape 6/10 */ provider_bump_generation(v_shape.provider_id);
    END LOOP;
    PERFORM /* reshape 7/10 */ allocation_apply(v_locked.ids, v_locked.generations, v_locked.projects, v_locked.users,
        v_locked.types,
        p_owners, v_named.providers, v_named.classes, p_amounts);
    FOR v_shape IN SELECT /* reshape 8/10 */ * FROM reshape_providers(p_inventories) LOOP
        PERFORM /* reshape 9/10 */ inventory_delete_except(v_shape.provider, v_shape.provider_id,
            inventory_names(v_shape.records));
        PERFORM /* reshape 10/10 */ provider_bump_generation(v_shape.provider_id);
    END LOOP;
END
$$;
