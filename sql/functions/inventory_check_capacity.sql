-- Refuses inventory records that leave too little to hand out.
--
-- p_records: see inventory_write. p_min_capacity: 1 before microversion 1.26,
-- where everything may not be reserved, else 0. Raises PL006 for the first such
-- record. Locks nothing.
CREATE OR REPLACE FUNCTION inventory_check_capacity(p_provider uuid, p_records jsonb, p_min_capacity int) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_class text;
BEGIN
    SELECT item.record ->> 'class' INTO v_class
    FROM jsonb_array_elements(p_records) WITH ORDINALITY AS item (record, place)
    WHERE trunc(
        ((item.record ->> 'total')::int - (item.record ->> 'reserved')::int)
        * (item.record ->> 'allocation_ratio')::float8
    ) < p_min_capacity
    ORDER BY item.place
    LIMIT 1;
    IF v_class IS NOT NULL THEN
        RAISE EXCEPTION 'inventory of % on provider % has too much reserved', v_class, p_provider
            USING ERRCODE = 'PL006', DETAIL = json_build_object('provider', p_provider, 'class', v_class);
    END IF;
END
$$;
