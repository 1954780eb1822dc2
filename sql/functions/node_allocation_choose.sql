-- Where to look for a node, and in which order: see node_allocation_process.
--
-- True: the allocation has a node, or is no longer to be decided. False: nothing
-- fits. Locks: as node_allocation_take, one node at a time.
CREATE OR REPLACE FUNCTION node_allocation_choose(p_wanted node_allocations, p_unit int) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_named bigint := (SELECT node.id FROM nodes AS node WHERE node.name = p_wanted.name);
    v_few bigint[] := node_allocation_few(p_wanted);
    v_last bigint := node_allocation_last(p_wanted.resource_class);
    v_first bigint := (node_allocation_page(p_wanted.resource_class, 0, v_last))[1];
    v_before bigint := v_first - 1 + floor(random() * (v_last - v_first + 1))::bigint;
    v_ends text[] := '{}'::text[];
BEGIN
    IF v_named IS NOT NULL THEN
        v_ends := v_ends || node_allocation_try(p_wanted, p_unit, ARRAY[v_named], 0, v_named, false);
    END IF;
    IF v_few IS NOT NULL THEN
        v_before := v_few[1 + floor(random() * cardinality(v_few))::int] - 1;
        v_last := 9223372036854775807;
    END IF;
    IF NOT v_ends && '{done}' AND v_before IS NOT NULL THEN
        v_ends := v_ends || node_allocation_try(p_wanted, p_unit, v_few, v_before, v_last, false);
    END IF;
    IF NOT v_ends && '{done}' AND v_before IS NOT NULL THEN
        v_ends := v_ends || node_allocation_try(p_wanted, p_unit, v_few, 0, v_before, false);
    END IF;
    -- Somebody may have let go what was held.
    IF NOT v_ends && '{done}' AND v_ends && '{held}' THEN
        v_ends := v_ends || node_allocation_try(p_wanted, p_unit, v_few, 0, v_last, true);
    END IF;
    RETURN v_ends && '{done}';
END
$$;
