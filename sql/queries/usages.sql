-- Returns the usage of each class by the consumers of a project (and user): one group for each
-- consumer type if by_type, otherwise one group named all. consumer_type selects the consumers of one
-- type; consumers without type have type unknown.
-- Called by Store.UsageList. Locks nothing.
-- Plan: consumers_project_id_idx, then allocations_pkey; cost follows the project's allocations.
-- name: UsageList :many
WITH counted AS (
    SELECT
        consumer.id AS consumer_id,
        CASE WHEN @by_type::bool THEN COALESCE(type.name, 'unknown') ELSE 'all' END AS consumer_type,
        allocation.class_id,
        allocation.used
    FROM projects AS project
    JOIN consumers AS consumer ON consumer.project_id = project.id
    JOIN users AS owner ON owner.id = consumer.user_id
    JOIN allocations AS allocation ON allocation.consumer_id = consumer.id
    LEFT JOIN consumer_types AS type ON type.id = consumer.consumer_type_id
    WHERE project.external_id = @project_id::text
      AND (sqlc.narg('user_id')::text IS NULL OR owner.external_id = sqlc.narg('user_id')::text)
      AND (sqlc.narg('consumer_type')::text IS NULL
        OR COALESCE(type.name, 'unknown') = sqlc.narg('consumer_type')::text)
), consumers_per_type AS (
    SELECT counted.consumer_type, count(DISTINCT counted.consumer_id) AS consumers
    FROM counted GROUP BY counted.consumer_type
)
SELECT
    counted.consumer_type::text AS consumer_type,
    class.name AS class,
    sum(counted.used)::bigint AS used,
    min(consumers_per_type.consumers)::bigint AS consumer_count
FROM counted
JOIN consumers_per_type ON consumers_per_type.consumer_type = counted.consumer_type
JOIN resource_classes AS class ON class.id = counted.class_id
GROUP BY counted.consumer_type, class.id, class.name
ORDER BY counted.consumer_type, class.id;
