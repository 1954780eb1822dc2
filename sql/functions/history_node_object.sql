-- A node as notes have it: columns by the names of their members, properties and extra; null for null. Secrets are not in it.
CREATE OR REPLACE FUNCTION history_node_object(p_node nodes) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT /* history_node_object 1/1 */ jsonb_build_object('name', p_node.name, 'driver', p_node.driver, 'resource_class', p_node.resource_class,
        'provision_state', p_node.provision_state, 'target_provision_state', p_node.target_provision_state,
        'power_state', p_node.power_state, 'target_power_state', p_node.target_power_state,
        'maintenance', p_node.maintenance, 'maintenance_reason', p_node.maintenance_reason, 'fault', p_node.fault,
        'instance_uuid', p_node.instance_uuid, 'owner', p_node.owner, 'lessee', p_node.lessee, 'protected', p_node.protected,
        'retired', p_node.retired, 'conductor_group', p_node.conductor_group, 'last_error', p_node.last_error,
        'properties', coalesce(p_node.details -> 'properties', '{}'), 'extra', coalesce(p_node.details -> 'extra', '{}'))
    WHERE p_node.id IS NOT NULL
$$;
