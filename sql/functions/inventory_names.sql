-- Returns the class names of inventory records (see inventory_write), in the order of the records.
CREATE OR REPLACE FUNCTION inventory_names(p_records jsonb) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* inventory_names 1/1 */ item.record ->> 'class'
        FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, position)
        ORDER BY item.position);
END
$$;
