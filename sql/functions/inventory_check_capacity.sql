-- Rejects inventory records whose capacity is too small.
--
-- p_records: see inventory_write. p_min_capacity: 1 before microversion 1.26, where an inventory must not
-- be reserved completely; otherwise 0. Raises PL006 for the first such record. Locks nothing.
CREATE OR REPLACE FUNCTION inventory_check_capacity(p_provider uuid, p_records jsonb, p_min_capacity int) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_class text;
BEGIN
    SELECT /* inventory_check_capacity 1/1 */ item.record ->> 'class' INTO v_class
    FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, position)
    WHERE trunc(
        ((item.record ->> 'total')::int - (item.record ->> 'reserved')::int)
        * (item.record ->> 'allocation_ratio')::float8
    ) < p_min_capacity
    ORDER BY item.position
    LIMIT 1;
    IF v_class IS NOT NULL THEN
        RAISE EXCEPTION 'inventory of % on provider % has too much reserved', v_class, p_provider
            USING ERRCODE = 'PL006', DETAIL = json_build_object('provider', p_provider, 'class', v_class);
    END IF;
END
$$;
