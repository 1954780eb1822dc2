-- Tries nodes with an id above p_after and up to p_to, in the order of their ids:
-- p_few, or the free ones of the class.
--
-- done: one was taken, or the allocation is no longer to be decided. held: none was,
-- and others held some of those that fit (never with p_wait). none: none fits.
-- Goes on after no_data_found (the node fits no more), PL009, PL010 and PL012 (its
-- unit is gone or claimed); what else node_allocation_take raises goes to the caller.
-- Locks: as node_allocation_take, one node at a time. Each try is a
-- subtransaction, since giving it up must let its locks go: waiting for a node
-- with another one in hand is how deadlocks are made.
CREATE OR REPLACE FUNCTION node_allocation_try(
    p_wanted node_allocations, p_unit int, p_few bigint[], p_after bigint, p_to bigint, p_wait bool
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_after bigint := p_after;
    v_page bigint[];
    v_node bigint;
    v_end text := 'none';
BEGIN
    LOOP
        IF p_few IS NOT NULL THEN
            v_page := ARRAY(SELECT few.id FROM unnest(p_few) AS few (id) WHERE few.id > p_after AND few.id <= p_to);
        ELSE
            v_page := node_allocation_page(p_wanted.resource_class, v_after, p_to);
        END IF;
        FOREACH v_node IN ARRAY node_allocation_fits(p_wanted, p_unit, v_page) LOOP
            BEGIN
                IF node_allocation_take(p_wanted, p_unit, v_node, p_wait) THEN
                    RETURN 'done';
                END IF;
                v_end := 'held';
            EXCEPTION
                WHEN no_data_found OR SQLSTATE 'PL009' OR SQLSTATE 'PL010' OR SQLSTATE 'PL012' THEN NULL;
            END;
        END LOOP;
        EXIT WHEN p_few IS NOT NULL OR cardinality(v_page) < 16;
        v_after := v_page[16];
    END LOOP;
    RETURN v_end;
END
$$;
