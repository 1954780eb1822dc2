-- Gives an allocation a node, or says why there is none for it.
--
-- Null: it has one, or is no longer to be decided. A text: the reason.
--
-- Tried are the node that is named like the allocation, then those that fit, from
-- a random place on and around, without waiting for any. Where some were held by
-- others, all that fit are tried once more in the order of their ids, waiting for
-- each: who holds a node may let it go. So a node that fits when this begins is
-- either given to this request, or was given to another.
--
-- PL050 and 23505 (nodes_instance_uuid_key) become reasons; raises only 40001, if nodes
-- became providers meanwhile, or are none any more.
-- Locks: one node at a time, and below it what node_allocation_take locks. What did
-- not fit is let go before the next.
-- Cost: a few pages of nodes_free_idx, whatever the number of nodes. With traits,
-- the nodes that have the rarest, if these are 256 or fewer; else, as with an owner or
-- where many units are claimed through Placement, up to all free nodes of the class.
CREATE OR REPLACE FUNCTION node_allocation_decide(p_wanted node_allocations, p_unit int) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_constraint text;
BEGIN
    IF node_allocation_choose(p_wanted, p_unit) THEN
        RETURN NULL;
    END IF;
    RETURN node_allocation_reason(p_wanted, p_unit, p_wanted.extended);
EXCEPTION
    WHEN SQLSTATE 'PL050' THEN
        RETURN format('Consumer %s has allocations in Placement already', p_wanted.uuid);
    WHEN unique_violation THEN
        GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
        IF v_constraint <> 'nodes_instance_uuid_key' THEN
            RAISE;
        END IF;
        RETURN format('Unexpected exception during allocation: Instance %s is already associated with a node', p_wanted.uuid);
END
$$;
