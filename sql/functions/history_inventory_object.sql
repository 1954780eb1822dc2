-- An inventory as notes have it: the members that clients write; null for null.
CREATE OR REPLACE FUNCTION history_inventory_object(p_inventory inventories) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT /* history_inventory_object 1/1 */ jsonb_build_object('total', p_inventory.total, 'reserved', p_inventory.reserved, 'min_unit', p_inventory.min_unit,
        'max_unit', p_inventory.max_unit, 'step_size', p_inventory.step_size, 'allocation_ratio', p_inventory.allocation_ratio)
    WHERE p_inventory.provider_id IS NOT NULL
$$;
