-- Chooses a node for an allocation. One transaction, and so one call, a decision.
--
-- p_conductor is the hostname of the caller. Does nothing unless the allocation is
-- to be decided, and by it. Otherwise the allocation is active afterwards, or in
-- error with the reason. One of a batch is decided with all the others, see
-- node_allocation_batch.
--
-- Notifies berth_decisions of its uuid if it is extended: somebody may wait.
-- Raises only 40001, if nodes became providers meanwhile, or are none any more.
-- Locks: the project, if nodes are providers; then as node_allocation_decide.
CREATE OR REPLACE FUNCTION node_allocation_process(p_uuid uuid, p_conductor text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_wanted node_allocations;
    v_unit int;
    v_reason text;
BEGIN
    SELECT allocation.* INTO v_wanted FROM node_allocations AS allocation
    WHERE allocation.uuid = p_uuid AND allocation.state = 'allocating' AND allocation.conductor_id = (
        SELECT conductor.id FROM conductors AS conductor WHERE conductor.hostname = p_conductor);
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_unit := node_provider_unit(v_wanted.resource_class);
    IF v_unit IS NOT NULL THEN
        PERFORM node_provider_references(v_wanted.owner);
    END IF;
    IF v_wanted.batch_uuid IS NOT NULL THEN
        PERFORM node_allocation_batch(v_wanted, v_unit);
        RETURN;
    END IF;
    v_reason := node_allocation_decide(v_wanted, v_unit);
    IF v_reason IS NOT NULL THEN
        PERFORM node_allocation_fail(v_wanted, v_reason);
    ELSIF v_wanted.extended THEN
        PERFORM pg_notify('berth_decisions', p_uuid::text);
    END IF;
END
$$;
