-- Says why an allocation was not taken, or takes it after all.
--
-- p_place: which of the arrays' elements. p_gone: what the request's consumers
-- had, all of it free again. Raises PL010 (the provider has no such inventory),
-- PL011 (min_unit, max_unit or step_size) or PL012 (capacity). A provider that
-- held more than its capacity already may keep as much as it had, or less: then
-- the amount is taken. The caller (allocation_apply) holds the provider.
CREATE OR REPLACE FUNCTION allocation_exceed(
    p_place int, p_providers bigint[], p_classes int[], p_amounts bigint[], p_gone allocations[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_inventory inventories;
    v_amount bigint := p_amounts[p_place];
    v_had numeric;
    v_taken numeric;
    v_rule text;
BEGIN
    SELECT * INTO v_inventory FROM inventories AS inventory
    WHERE inventory.provider_id = p_providers[p_place] AND inventory.class_id = p_classes[p_place];
    SELECT coalesce(sum(gone.used), 0) INTO v_had FROM unnest(p_gone) AS gone
    WHERE gone.provider_id = p_providers[p_place] AND gone.class_id = p_classes[p_place];
    SELECT coalesce(sum(item.amount), 0) INTO v_taken
    FROM unnest(p_providers, p_classes, p_amounts) WITH ORDINALITY AS item (provider_id, class_id, amount, place)
    WHERE item.provider_id = p_providers[p_place] AND item.class_id = p_classes[p_place] AND item.place < p_place;

    v_rule := CASE
        WHEN v_inventory.provider_id IS NULL THEN 'PL010'
        WHEN v_amount < v_inventory.min_unit OR v_amount > v_inventory.max_unit
            OR v_amount % v_inventory.step_size <> 0 THEN 'PL011'
        -- used is v_taken more and v_had less than it was before the request.
        WHEN v_taken + v_amount > v_had THEN 'PL012'
    END;
    IF v_rule IS NOT NULL THEN
        RAISE EXCEPTION 'allocation of class % on provider % does not fit', p_classes[p_place], p_providers[p_place]
            USING ERRCODE = v_rule,
            DETAIL = json_build_object(
                'provider', (SELECT provider.uuid FROM resource_providers AS provider WHERE provider.id = p_providers[p_place]),
                'class', (SELECT class.name FROM resource_classes AS class WHERE class.id = p_classes[p_place]));
    END IF;
    UPDATE inventories SET used = used + v_amount
    WHERE provider_id = p_providers[p_place] AND class_id = p_classes[p_place];
END
$$;
