-- Returns aggregates in the order of their ids, with the numbers of their providers and of their sharing providers: those
-- between id_after and id_before, newest first if descending, at most max_items. uuids and resource_provider are
-- filters; null: all.
-- Called by Store.AggregateList. Locks nothing.
-- Plan: the range of aggregates_pkey; for uuids aggregates_uuid_key, for resource_provider provider_aggregates_pkey. Then
-- for each an index-only count in provider_aggregates_aggregate_id_idx and provider_aggregates_sharing_idx: cost follows
-- the members of the listed aggregates. Never a sequential scan.
-- name: AggregateList :many
WITH ranged AS (  -- each branch has a constant condition, so that only one of them runs
    (SELECT aggregate.id FROM aggregates AS aggregate
    WHERE @leading_filter::text = 'range' AND NOT @descending::bool
      AND aggregate.id > @id_after::int AND aggregate.id < @id_before::int
    ORDER BY aggregate.id
    LIMIT @max_items::bigint)
    UNION ALL
    (SELECT aggregate.id FROM aggregates AS aggregate
    WHERE @leading_filter::text = 'range' AND @descending::bool
      AND aggregate.id > @id_after::int AND aggregate.id < @id_before::int
    ORDER BY aggregate.id DESC
    LIMIT @max_items::bigint)
    UNION ALL
    SELECT aggregate.id
    FROM (SELECT DISTINCT wanted.uuid FROM unnest(@uuids::uuid[]) AS wanted (uuid)) AS requested
    CROSS JOIN LATERAL (SELECT known.id FROM aggregates AS known WHERE known.uuid = requested.uuid OFFSET 0) AS aggregate
    WHERE @leading_filter::text = 'uuid'
    UNION ALL
    SELECT member.aggregate_id
    FROM resource_providers AS provider
    JOIN provider_aggregates AS member ON member.provider_id = provider.id
    WHERE @leading_filter::text = 'resource_provider' AND provider.uuid = sqlc.narg('resource_provider')::uuid
), listed AS (
    SELECT aggregate.id, aggregate.uuid, aggregate.created_at
    FROM ranged
    CROSS JOIN LATERAL (
        SELECT known.id, known.uuid, known.created_at FROM aggregates AS known WHERE known.id = ranged.id OFFSET 0
    ) AS aggregate
    WHERE aggregate.id > @id_after::int AND aggregate.id < @id_before::int
      AND (cardinality(@uuids::uuid[]) = 0 OR aggregate.uuid = ANY (@uuids::uuid[]))
    ORDER BY CASE WHEN @descending::bool THEN -aggregate.id ELSE aggregate.id END
    LIMIT @max_items::bigint
)
SELECT
    listed.id,
    listed.uuid,
    listed.created_at,
    (SELECT count(*) FROM provider_aggregates AS member WHERE member.aggregate_id = listed.id)::bigint AS providers,
    (SELECT count(*) FROM provider_aggregates AS member WHERE member.aggregate_id = listed.id AND member.sharing)::bigint AS sharing
FROM listed
ORDER BY CASE WHEN @descending::bool THEN -listed.id ELSE listed.id END;
