-- The class names of inventory records (see inventory_write), in their order.
CREATE OR REPLACE FUNCTION inventory_names(p_records jsonb) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT item.record ->> 'class'
        FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, place)
        ORDER BY item.place);
END
$$;
