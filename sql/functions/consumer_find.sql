-- Returns the consumers that pass the filters of GET /consumers, in the order of rank, among the next p_bound consumers
-- from a place on.
--
-- Called by the queries ConsumerList and ConsumerCount, into which PostgreSQL inlines it. Locks nothing.
-- p_from is the place: the least rank, which is the id, or with p_descending the negative id. p_low and p_high are the range
-- of UUIDs of the parameter q, from the place on: then the order is that of the UUIDs, and p_from does not count.
-- The row with is_last is the p_bound-th: the place of the next page. It is there also if it does not pass the filters.
-- Filters that are null pass all. The type 'unknown' is that of consumers without one. An unknown name passes none.
-- With p_from_expiry the order is that of expires_at, then id, from that time and the id p_from on. Then the caller sets p_leased and
-- no p_low, and all leases are read to sort them.
--
-- lead is the filter whose index finds the consumers: 'search' (consumers_uuid_key, for q), 'uuid' (the same), 'provider'
-- (allocations_provider_id_idx, for providers, a tree or a trait), 'project' (consumers_project_id_idx), 'lease' (leases_due_idx, for
-- filters on leases; with p_from_expiry always) or 'walk'
-- (consumers_pkey). A filter leads if it has fewer entries than p_bound in its index,
-- and at most 1,000 providers: a page reads all of them. With project the entries are those of the user too, if there is one. For
-- others it walks, and reads at most p_bound consumers. Each branch of found has a condition on lead, so that only one of them
-- runs, and reads the consumers, except that of providers. Filters on allocations are look-ups of keys for each consumer, unless the only one leads.
-- Plan: the index of the lead, then keys: consumers_pkey, allocations_pkey, resource_providers_pkey, provider_traits_pkey.
-- OFFSET 0 forces these look-ups: the planner adds the rows of all branches, and would choose scans and hash joins.
CREATE OR REPLACE FUNCTION consumer_find(
    p_descending bool, p_from bigint, p_low uuid, p_high uuid, p_bound bigint,
    p_uuids uuid[], p_project text, p_user text, p_type text,
    p_providers uuid[], p_tree uuid, p_classes text[], p_trait text,
    p_created_before timestamptz, p_created_after timestamptz, p_updated_before timestamptz, p_updated_after timestamptz,
    p_leased bool, p_expires_before timestamptz, p_until_before timestamptz, p_from_expiry timestamptz
) RETURNS TABLE (rank bigint, id bigint, is_last bool)
LANGUAGE sql STABLE AS $$
WITH /* consumer_find 1/1 */ named AS MATERIALIZED (
    SELECT
        (SELECT project.id FROM projects AS project WHERE project.external_id = p_project) AS project_id,
        (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_user) AS user_id,
        (SELECT type.id FROM consumer_types AS type WHERE type.name = p_type) AS type_id,
        (SELECT trait.id FROM traits AS trait WHERE trait.name = p_trait) AS trait_id,
        (SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = p_tree) AS root_id,
        ARRAY(
            SELECT class.id FROM unnest(p_classes) AS requested (name)
            CROSS JOIN LATERAL (SELECT one.id FROM resource_classes AS one WHERE one.name = requested.name OFFSET 0) AS class
        ) AS class_ids,
        ARRAY(
            SELECT provider.id FROM unnest(p_providers) AS requested (uuid)
            CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.uuid = requested.uuid OFFSET 0) AS provider
        ) AS provider_ids

), leading_provider AS MATERIALIZED (
    SELECT provider.id FROM named CROSS JOIN LATERAL unnest(named.provider_ids) AS provider (id)
    UNION ALL
    (
        SELECT provider.id FROM named
        CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.root_id = named.root_id OFFSET 0) AS provider
        WHERE p_providers IS NULL LIMIT 1001
    )
    UNION ALL
    (
        SELECT provider.id FROM named
        CROSS JOIN LATERAL (SELECT one.provider_id AS id FROM provider_traits AS one WHERE one.trait_id = named.trait_id OFFSET 0) AS provider
        WHERE p_providers IS NULL AND p_tree IS NULL LIMIT 1001
    )

), lead AS MATERIALIZED (
    SELECT CASE
        WHEN p_project IS NOT NULL AND named.project_id IS NULL
            OR p_user IS NOT NULL AND named.user_id IS NULL
            OR p_type <> 'unknown' AND named.type_id IS NULL
            OR p_trait IS NOT NULL AND named.trait_id IS NULL
            OR p_tree IS NOT NULL AND named.root_id IS NULL
            OR p_classes IS NOT NULL AND named.class_ids = '{}'
            OR p_providers IS NOT NULL AND named.provider_ids = '{}' THEN 'nothing'
        WHEN p_from_expiry IS NOT NULL THEN 'lease'
        WHEN p_low IS NOT NULL THEN 'search'
        WHEN p_uuids IS NOT NULL THEN 'uuid'
        WHEN (p_providers IS NOT NULL OR p_tree IS NOT NULL OR p_trait IS NOT NULL)
            AND (SELECT count(*) FROM leading_provider) <= 1000
            AND (SELECT count(*) FROM (
                SELECT FROM leading_provider
                CROSS JOIN LATERAL (SELECT FROM allocations AS one WHERE one.provider_id = leading_provider.id OFFSET 0) AS allocation
                LIMIT p_bound
            ) AS counted) < p_bound THEN 'provider'
        WHEN p_project IS NOT NULL AND (SELECT count(*) FROM (
                SELECT FROM consumers AS one
                WHERE one.project_id = named.project_id
                    AND one.user_id BETWEEN COALESCE(named.user_id, 0) AND COALESCE(named.user_id, 9223372036854775807)
                LIMIT p_bound
            ) AS counted) < p_bound THEN 'project'
        WHEN (COALESCE(p_leased, false) OR p_expires_before IS NOT NULL OR p_until_before IS NOT NULL)
            AND (SELECT count(*) FROM (
                SELECT FROM leases AS lease WHERE lease.due < COALESCE(p_expires_before, 'infinity')
                ORDER BY lease.due LIMIT p_bound
            ) AS counted) < p_bound THEN 'lease'
        ELSE 'walk'
    END AS name,
    (SELECT count(*) FROM leading_provider) <= 1000 AS has_all_providers
    FROM named

), found AS (
    SELECT
        row_number() OVER (ORDER BY one.uuid) AS rank, one.id, one.uuid, one.project_id, one.user_id, one.consumer_type_id,
        one.created_at, one.updated_at
    FROM (
        SELECT
            consumer.id, consumer.uuid, consumer.project_id, consumer.user_id, consumer.consumer_type_id, consumer.created_at, consumer.updated_at
        FROM consumers AS consumer
        WHERE (SELECT lead.name FROM lead) = 'search' AND consumer.uuid BETWEEN p_low AND p_high
        ORDER BY consumer.uuid LIMIT p_bound
    ) AS one
    UNION ALL
    SELECT
        CASE WHEN p_descending THEN -consumer.id ELSE consumer.id END, consumer.id, consumer.uuid, consumer.project_id, consumer.user_id,
        consumer.consumer_type_id, consumer.created_at, consumer.updated_at
    FROM (SELECT DISTINCT given.uuid FROM unnest(p_uuids) AS given (uuid)) AS requested
    CROSS JOIN LATERAL (
        SELECT one.id, one.uuid, one.project_id, one.user_id, one.consumer_type_id, one.created_at, one.updated_at
        FROM consumers AS one WHERE one.uuid = requested.uuid OFFSET 0
    ) AS consumer
    WHERE (SELECT lead.name FROM lead) = 'uuid'
    UNION ALL
    SELECT CASE WHEN p_descending THEN -holder.id ELSE holder.id END, holder.id, NULL, NULL, NULL, NULL, NULL, NULL FROM (
        SELECT DISTINCT allocation.consumer_id AS id FROM leading_provider
        CROSS JOIN LATERAL (
            SELECT one.consumer_id FROM allocations AS one WHERE one.provider_id = leading_provider.id OFFSET 0
        ) AS allocation
        WHERE (SELECT lead.name FROM lead) = 'provider'
    ) AS holder
    UNION ALL
    SELECT
        CASE WHEN p_descending THEN -consumer.id ELSE consumer.id END, consumer.id, consumer.uuid, consumer.project_id, consumer.user_id,
        consumer.consumer_type_id, consumer.created_at, consumer.updated_at
    FROM named
    CROSS JOIN LATERAL (
        SELECT one.id, one.uuid, one.project_id, one.user_id, one.consumer_type_id, one.created_at, one.updated_at
        FROM consumers AS one
        WHERE one.project_id = named.project_id
            AND one.user_id BETWEEN COALESCE(named.user_id, 0) AND COALESCE(named.user_id, 9223372036854775807)
        OFFSET 0
    ) AS consumer
    WHERE (SELECT lead.name FROM lead) = 'project'
    UNION ALL
    SELECT
        CASE WHEN p_from_expiry IS NOT NULL THEN row_number() OVER (ORDER BY one.expires_at, one.consumer_id)
            WHEN p_descending THEN -one.consumer_id ELSE one.consumer_id END,
        one.consumer_id, NULL, NULL, NULL, NULL, NULL, NULL
    FROM (
        -- due is at most expires_at
        SELECT lease.consumer_id, lease.expires_at FROM leases AS lease
        WHERE (SELECT lead.name FROM lead) = 'lease' AND lease.due < COALESCE(p_expires_before, 'infinity')
            AND (p_from_expiry IS NULL OR (lease.expires_at, lease.consumer_id) >= (p_from_expiry, p_from))
        ORDER BY CASE WHEN p_from_expiry IS NOT NULL THEN lease.expires_at END, lease.consumer_id
        LIMIT p_bound
    ) AS one
    UNION ALL
    (
        SELECT
            consumer.id AS rank, consumer.id, consumer.uuid, consumer.project_id, consumer.user_id, consumer.consumer_type_id,
            consumer.created_at, consumer.updated_at
        FROM consumers AS consumer
        WHERE (SELECT lead.name FROM lead) = 'walk' AND NOT p_descending AND consumer.id >= p_from
        ORDER BY consumer.id LIMIT p_bound
    )
    UNION ALL
    (
        SELECT
            -consumer.id AS rank, consumer.id, consumer.uuid, consumer.project_id, consumer.user_id, consumer.consumer_type_id,
            consumer.created_at, consumer.updated_at
        FROM consumers AS consumer
        WHERE (SELECT lead.name FROM lead) = 'walk' AND p_descending AND consumer.id <= -p_from
        ORDER BY consumer.id DESC LIMIT p_bound
    )

), looked_at AS (
    SELECT
        found.rank, found.id, found.uuid, found.project_id, found.user_id, found.consumer_type_id, found.created_at, found.updated_at,
        row_number() OVER (ORDER BY found.rank) AS position
    FROM found
    WHERE p_low IS NOT NULL OR p_from_expiry IS NOT NULL OR found.rank >= p_from
    ORDER BY found.rank LIMIT p_bound
)
SELECT looked_at.rank, looked_at.id, looked_at.position = p_bound AS is_last
FROM named CROSS JOIN looked_at
CROSS JOIN LATERAL (
    -- Those of leading providers are read here, until the page is full; others have been read.
    SELECT
        looked_at.uuid, looked_at.project_id, looked_at.user_id, looked_at.consumer_type_id, looked_at.created_at,
        COALESCE(looked_at.updated_at, looked_at.created_at) AS updated_at
    WHERE looked_at.uuid IS NOT NULL
    UNION ALL
    SELECT one.uuid, one.project_id, one.user_id, one.consumer_type_id, one.created_at, COALESCE(one.updated_at, one.created_at)
    FROM consumers AS one WHERE looked_at.uuid IS NULL AND one.id = looked_at.id
    OFFSET 0
) AS consumer
WHERE looked_at.position = p_bound OR (
    (p_uuids IS NULL OR consumer.uuid = ANY (p_uuids))
    AND (p_project IS NULL OR consumer.project_id = named.project_id)
    AND (p_user IS NULL OR consumer.user_id = named.user_id)
    AND (p_type IS NULL OR consumer.consumer_type_id IS NOT DISTINCT FROM named.type_id)
    AND (p_created_before IS NULL OR consumer.created_at < p_created_before)
    AND (p_created_after IS NULL OR consumer.created_at >= p_created_after)
    AND (p_updated_before IS NULL OR consumer.updated_at < p_updated_before)
    AND (p_updated_after IS NULL OR consumer.updated_at >= p_updated_after)
    AND (p_leased IS NOT false OR NOT EXISTS (SELECT FROM leases AS lease WHERE lease.consumer_id = looked_at.id OFFSET 0))
    AND (p_leased IS NOT true AND p_expires_before IS NULL AND p_until_before IS NULL OR EXISTS (
        SELECT FROM leases AS lease
        WHERE lease.consumer_id = looked_at.id
            AND (p_expires_before IS NULL OR lease.expires_at < p_expires_before)
            AND (p_until_before IS NULL OR lease.until < p_until_before)
        OFFSET 0))
    AND (p_providers IS NULL AND p_tree IS NULL AND p_classes IS NULL AND p_trait IS NULL
        OR (SELECT lead.name FROM lead) = 'provider' AND p_classes IS NULL AND num_nonnulls(p_providers, p_tree, p_trait) = 1
        OR EXISTS (
        SELECT FROM allocations AS allocation
        WHERE allocation.consumer_id = looked_at.id
            AND (p_providers IS NULL OR allocation.provider_id IN (SELECT leading_provider.id FROM leading_provider))
            AND (p_classes IS NULL OR allocation.class_id = ANY (named.class_ids))
            -- Compared by a hash, if these are the providers of the tree or with the trait, and not too many.
            AND (p_tree IS NULL OR CASE
                WHEN p_providers IS NULL AND (SELECT lead.has_all_providers FROM lead)
                    THEN allocation.provider_id IN (SELECT leading_provider.id FROM leading_provider)
                ELSE named.root_id = (SELECT provider.root_id FROM resource_providers AS provider WHERE provider.id = allocation.provider_id)
            END)
            AND (p_trait IS NULL OR CASE
                WHEN p_providers IS NULL AND p_tree IS NULL AND (SELECT lead.has_all_providers FROM lead)
                    THEN allocation.provider_id IN (SELECT leading_provider.id FROM leading_provider)
                ELSE EXISTS (
                    SELECT FROM provider_traits AS member
                    WHERE member.provider_id = allocation.provider_id AND member.trait_id = named.trait_id OFFSET 0)
            END)
        OFFSET 0)))
ORDER BY looked_at.rank
$$;
