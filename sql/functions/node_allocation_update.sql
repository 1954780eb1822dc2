-- PATCH /v1/allocations/{allocation}: updates the name and extra of an allocation that was read at p_revision.
--
-- Returns the time of the update and increments the revision. Raises PL041 (it is gone), PL051 (it was
-- changed since p_revision), 23505 (node_allocations_name_key). Locks: its row.
CREATE OR REPLACE FUNCTION node_allocation_update(
    p_id bigint, p_revision bigint, p_name text, p_extra jsonb
) RETURNS timestamptz
LANGUAGE plpgsql AS $$
DECLARE
    v_revision bigint;
BEGIN
    SELECT /* node_allocation_update 1/2 */ allocation.revision INTO v_revision FROM node_allocations AS allocation
    WHERE allocation.id = p_id FOR UPDATE;
    IF v_revision IS DISTINCT FROM p_revision THEN
        RAISE EXCEPTION 'allocation % was changed', p_id
            USING ERRCODE = CASE WHEN v_revision IS NULL THEN 'PL041' ELSE 'PL051' END,
            DETAIL = json_build_object('actual', v_revision, 'given', p_revision);
    END IF;
    UPDATE /* node_allocation_update 2/2 */ node_allocations
        SET name = p_name, extra = p_extra, revision = revision + 1, updated_at = now()
    WHERE id = p_id;
    RETURN now();
END
$$;
