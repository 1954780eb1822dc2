-- POST /reshaper: inventories and the allocations on them change together.
--
-- p_inventories: JSON array of {provider, generation, records}, records as in
-- inventory_write. The rest as in allocation_replace. First every provider gets
-- the union of its old and new inventories, then the allocations move, then the
-- inventories become exactly the new ones.
-- Raises, in this order: PL001 (unknown provider among the inventories), PL002
-- (its generation), PL003 (consumer generation), PL009 (unknown provider among
-- the allocations), PL004 (unknown class), PL010, PL011, PL012 (see
-- allocation_refuse), PL005 (a dropped inventory is in use).
-- Locks: projects, users, types, consumers, roots FOR SHARE, providers, each in
-- key order, before anything is decided.
CREATE OR REPLACE FUNCTION reshape(
    p_inventories jsonb,
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[],
    p_check_generations bool, p_generations bigint[], p_unseen bool[],
    p_owners int[], p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_held record;
    v_providers bigint[];
    v_named record;
    v_shape record;
BEGIN
    v_held := consumer_lock(p_consumers, p_projects, p_users, p_types, p_unseen);
    v_providers := reshape_hold(p_inventories, v_held.ids, p_providers);
    PERFORM reshape_check_providers(p_inventories, v_providers);
    IF p_check_generations THEN
        PERFORM consumer_check_generation(p_consumers, v_held.generations, p_generations, p_unseen);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    IF EXISTS (SELECT unnest(v_named.providers) EXCEPT SELECT unnest(v_providers)) THEN
        RAISE EXCEPTION 'a provider was made while others were locked' USING ERRCODE = '40001';
    END IF;

    FOR v_shape IN SELECT * FROM reshape_shapes(p_inventories) WHERE jsonb_array_length(records) > 0 LOOP
        PERFORM inventory_write(v_shape.provider_id, v_shape.root_id, v_shape.records);
        PERFORM bump_provider(v_shape.provider_id);
    END LOOP;
    PERFORM allocation_apply(v_held.ids, v_held.generations, v_held.projects, v_held.users, v_held.types,
        p_owners, v_named.providers, v_named.classes, p_amounts);
    FOR v_shape IN SELECT * FROM reshape_shapes(p_inventories) LOOP
        PERFORM inventory_drop_others(v_shape.provider, v_shape.provider_id, inventory_names(v_shape.records));
        PERFORM bump_provider(v_shape.provider_id);
    END LOOP;
END
$$;
