-- Returns a row for each consumer of PUT /resource_providers/{uuid}/tree, and whether it differs from the request.
--
-- Arguments as in allocation_replace. consumer_id and generation are null for a consumer that does not exist; it
-- differs if the request has allocations of it. Locks nothing.
-- Plan: keys, and the range of each consumer in allocations_pkey.
CREATE OR REPLACE FUNCTION tree_consumer_differences(
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[],
    p_owners int[], p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS TABLE (request_position bigint, consumer uuid, consumer_id bigint, generation bigint, differs bool)
LANGUAGE sql STABLE AS $$
    WITH /* tree_consumer_differences 1/1 */ requested AS MATERIALIZED (
        SELECT item.position, item.uuid, existing.id, existing.generation,
            existing.project = item.project AND existing.owner = item.owner
                AND (item.type = '' OR existing.type IS NOT DISTINCT FROM item.type) AS same_owner,
            (SELECT count(*) FROM allocations AS allocation WHERE allocation.consumer_id = existing.id) AS had
        FROM unnest(p_consumers, p_projects, p_users, p_types) WITH ORDINALITY
            AS item (uuid, project, owner, type, position)
        LEFT JOIN LATERAL (
            SELECT consumer.id, consumer.generation,
                (SELECT project.external_id FROM projects AS project WHERE project.id = consumer.project_id) AS project,
                (SELECT owner.external_id FROM users AS owner WHERE owner.id = consumer.user_id) AS owner,
                (SELECT type.name FROM consumer_types AS type WHERE type.id = consumer.consumer_type_id) AS type
            FROM consumers AS consumer WHERE consumer.uuid = item.uuid OFFSET 0
        ) AS existing ON true
    ), wanted AS (
        SELECT item.owner, count(*) AS amounts, count(*) FILTER (WHERE had.used = item.amount) AS same
        FROM unnest(p_owners, p_providers, p_classes, p_amounts) AS item (owner, provider, class, amount)
        LEFT JOIN LATERAL (
            SELECT allocation.used FROM allocations AS allocation
            WHERE allocation.consumer_id = (SELECT consumer.id FROM consumers AS consumer
                WHERE consumer.uuid = p_consumers[item.owner])
              AND allocation.provider_id = (SELECT provider.id FROM resource_providers AS provider
                WHERE provider.uuid = item.provider)
              AND allocation.class_id = (SELECT class.id FROM resource_classes AS class WHERE class.name = item.class)
            OFFSET 0
        ) AS had ON true
        GROUP BY item.owner
    )
    SELECT requested.position, requested.uuid, requested.id, requested.generation,
        CASE WHEN requested.id IS NULL THEN wanted.owner IS NOT NULL
            ELSE NOT requested.same_owner OR requested.had <> coalesce(wanted.amounts, 0)
                OR coalesce(wanted.amounts, 0) <> coalesce(wanted.same, 0) END
    FROM requested LEFT JOIN wanted ON wanted.owner = requested.position
    ORDER BY requested.position;
$$;
