-- Makes the project, user and consumer type of an owner's allocations in Placement.
--
-- Called before a node is locked, as the order of locks has it. Locks: as
-- consumer_references.
CREATE OR REPLACE FUNCTION node_provider_references(p_owner text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM consumer_references(ARRAY[node_provider_project(p_owner)], ARRAY[node_provider_project(NULL)], ARRAY['BAREMETAL']);
END
$$;
