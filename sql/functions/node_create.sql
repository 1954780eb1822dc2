-- POST /v1/nodes: creates a node from an object with the names of its columns.
--
-- Returns the node. Raises 23505 (nodes_uuid_key, nodes_name_key or nodes_instance_uuid_key). Locks: no
-- existing row. Not idempotent: a second call violates the unique constraints.
CREATE OR REPLACE FUNCTION node_create(p_node jsonb) RETURNS SETOF nodes
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    INSERT /* node_create 1/1 */ INTO nodes (
        uuid, name, driver, resource_class, provision_state, target_provision_state, power_state, target_power_state,
        maintenance, maintenance_reason, fault, instance_uuid, owner, lessee, protected, retired, conductor_group,
        last_error, details
    )
    SELECT
        given.uuid, given.name, given.driver, given.resource_class, given.provision_state, given.target_provision_state,
        given.power_state, given.target_power_state, given.maintenance, given.maintenance_reason, given.fault,
        given.instance_uuid, given.owner, given.lessee, given.protected, given.retired, given.conductor_group,
        given.last_error, given.details
    FROM jsonb_populate_record(NULL::nodes, p_node) AS given
    RETURNING nodes.*;
END
$$;
