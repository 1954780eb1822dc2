-- Inserts the project, user and consumer type of an owner's allocations in Placement.
--
-- Without an owner the project is the nil UUID, which is also the user of all allocations. The lock order
-- requires a call before a node is locked. Locks: as consumer_ensure_references.
CREATE OR REPLACE FUNCTION node_provider_ensure_owner(p_owner text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM /* node_provider_ensure_owner 1/1 */ consumer_ensure_references(
        ARRAY[coalesce(nullif(p_owner, ''), '00000000-0000-0000-0000-000000000000')],
        '{00000000-0000-0000-0000-000000000000}', '{BAREMETAL}');
END
$$;
