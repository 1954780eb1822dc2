-- Returns the consumers that had something at an event, as they were: a row for each allocation, in the order of consumers and allocations.
--
-- p_index: the event; p_began: the time from which the record is complete; p_consumers: each once. created_at is null for a consumer that was
-- deleted since, updated_at for one that has changed since, allocated_at for an allocation that has changed since. See
-- history_allocations_at and history_providers_at for the other columns, and the query ConsumerList for those of node allocations.
-- Called by the query ConsumersAt. Locks: none.
-- Plan: history_later; consumers_uuid_key, keys of the names; history_node_idx and node_allocations_uuid_key; see these functions.
CREATE OR REPLACE FUNCTION history_consumers_at(p_index bigint, p_began timestamptz, p_consumers uuid[])
RETURNS TABLE (consumer uuid, generation bigint, project text, owner text, type text, lease jsonb, created_at timestamptz, updated_at timestamptz,
    is_node_allocation bool, node_allocation_name text, provider uuid, provider_name text, root uuid, provider_generation bigint,
    class text, class_order bigint, used bigint, allocated_at timestamptz)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    v_day date := history_day_of(p_index + 1);
BEGIN
    RETURN QUERY
    WITH /* history_consumers_at 1/1 */ later AS MATERIALIZED (
        SELECT change.consumer, change.index, change.before, change.after FROM history_later(p_index, '{allocation}', NULL, p_consumers) AS change
    ), first AS MATERIALIZED (
        SELECT later.consumer, min(later.index) FILTER (WHERE later.after IS NULL) AS gone
        FROM later GROUP BY later.consumer
    ), attributes AS MATERIALIZED (
        SELECT DISTINCT ON (later.consumer) later.consumer, later.before FROM later
        WHERE later.before ? 'project_id' ORDER BY later.consumer, later.index
    ), leases_then AS MATERIALIZED (  -- A deleted consumer with a lease has it in the change that deleted it.
        SELECT DISTINCT ON (later.consumer) later.consumer, NULLIF(later.before -> 'lease', 'null') AS lease
        FROM later JOIN first USING (consumer)
        WHERE later.before ? 'lease' AND (first.gone IS NULL OR later.index <= first.gone) ORDER BY later.consumer, later.index
    ), state AS MATERIALIZED (
        SELECT key.uuid, present.id,
            CASE WHEN recorded.consumer IS NULL THEN present.generation ELSE (recorded.before ->> 'consumer_generation')::bigint END AS generation,
            CASE WHEN recorded.consumer IS NULL THEN present.project ELSE recorded.before ->> 'project_id' END AS project,
            CASE WHEN recorded.consumer IS NULL THEN present.owner ELSE recorded.before ->> 'user_id' END AS owner,
            CASE WHEN recorded.consumer IS NULL THEN present.type ELSE recorded.before ->> 'consumer_type' END AS type,
            CASE WHEN leased.consumer IS NOT NULL THEN leased.lease WHEN first.gone IS NULL THEN present.lease END AS lease,
            CASE WHEN first.gone IS NULL THEN present.created_at END AS created_at,
            CASE WHEN first.consumer IS NULL THEN present.updated_at END AS updated_at
        FROM unnest(p_consumers) AS key (uuid)
        LEFT JOIN first ON first.consumer = key.uuid
        LEFT JOIN attributes AS recorded ON recorded.consumer = key.uuid
        LEFT JOIN leases_then AS leased ON leased.consumer = key.uuid
        LEFT JOIN LATERAL (
            SELECT one.id, one.generation, one.created_at, coalesce(one.updated_at, one.created_at) AS updated_at,
                (SELECT project.external_id FROM projects AS project WHERE project.id = one.project_id) AS project,
                (SELECT owner.external_id FROM users AS owner WHERE owner.id = one.user_id) AS owner,
                (SELECT kind.name FROM consumer_types AS kind WHERE kind.id = one.consumer_type_id) AS type,
                CASE WHEN one.leased THEN (SELECT lease_show(owned) FROM leases AS owned WHERE owned.consumer_id = one.id) END AS lease
            FROM consumers AS one WHERE one.uuid = key.uuid OFFSET 0
        ) AS present ON true
    ), held AS MATERIALIZED (
        SELECT allocation.* FROM history_allocations_at(p_index, NULL, p_consumers) AS allocation
    ), providers AS MATERIALIZED (
        SELECT place.* FROM history_providers_at(p_index, p_began, ARRAY(SELECT DISTINCT held.provider FROM held)) AS place
    ), node_changes AS MATERIALIZED (
        SELECT one.node, one.index, one.before FROM unnest(p_consumers) AS key (uuid)
        CROSS JOIN LATERAL (
            SELECT change.node, change.index, change.before FROM history AS change
            WHERE change.node = key.uuid AND change.topic = 'node_allocation' AND change.index > p_index AND change.day >= v_day OFFSET 0
        ) AS one
        UNION ALL
        SELECT change.node, change.index, change.before FROM history_pending() AS change
        WHERE change.topic = 'node_allocation' AND change.node = ANY (p_consumers)
    ), node_later AS MATERIALIZED (
        SELECT DISTINCT ON (change.node) change.node, change.before FROM node_changes AS change ORDER BY change.node, change.index
    ), node_allocated AS MATERIALIZED (
        SELECT node_later.node AS uuid, node_later.before ->> 'name' AS name, node_later.before ->> 'node_uuid' AS node
        FROM node_later WHERE node_later.before IS NOT NULL
        UNION ALL
        SELECT present.uuid, present.name, (SELECT node.uuid::text FROM nodes AS node WHERE node.id = present.node_id)
        FROM unnest(p_consumers) AS key (uuid)
        CROSS JOIN LATERAL (
            SELECT one.uuid, one.name, one.node_id FROM node_allocations AS one WHERE one.uuid = key.uuid OFFSET 0
        ) AS present
        WHERE NOT EXISTS (SELECT FROM node_later WHERE node_later.node = key.uuid)
    )
    SELECT state.uuid, state.generation, state.project, state.owner, state.type, state.lease, state.created_at, state.updated_at,
        node_allocated.uuid IS NOT NULL, node_allocated.name,
        held.provider, place.name, place.root, place.generation, held.class, held.class_order, held.used, held.created_at
    FROM state
    JOIN held ON held.consumer = state.uuid
    JOIN providers AS place ON place.uuid = held.provider
    LEFT JOIN node_allocated ON node_allocated.uuid = state.uuid
        AND EXISTS (SELECT FROM held AS of WHERE of.consumer = state.uuid AND of.provider::text = node_allocated.node)
    ORDER BY state.id, state.uuid, held.id, held.provider, held.class_order, held.class;
END
$$;
