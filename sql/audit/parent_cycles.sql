-- Providers that are their own ancestors. The cost grows with n log n, also for chains and cycles of any length.
--
-- Only providers that no root reaches are in a cycle or below one. Following parents from all of them for as many steps as
-- there are such providers ends at exactly those in cycles: each way has entered its cycle, and has not left it. The number
-- of steps doubles with each row of climb. Without cycles climb has one row, with null.
WITH RECURSIVE reachable AS (
    SELECT topmost.id FROM resource_providers AS topmost
    WHERE NOT EXISTS (SELECT FROM resource_providers AS parent WHERE parent.id = topmost.parent_id)
    UNION ALL  -- ends at the leaves: each provider has one parent
    SELECT child.id FROM reachable AS parent JOIN resource_providers AS child ON child.parent_id = parent.id
), unreachable AS MATERIALIZED (
    SELECT provider.id, provider.parent_id, row_number() OVER (ORDER BY provider.id) AS place
    FROM resource_providers AS provider
    WHERE NOT EXISTS (SELECT FROM reachable WHERE reachable.id = provider.id)
), climb AS (  -- ancestors has at each place the place of the ancestor that is steps above it
    SELECT 1::bigint AS steps, array_agg(parent.place::integer ORDER BY child.place) AS ancestors
    FROM unreachable AS child JOIN unreachable AS parent ON parent.id = child.parent_id
    UNION ALL
    SELECT 2 * climb.steps, ARRAY(
        SELECT climb.ancestors[middle.place] FROM unnest(climb.ancestors) WITH ORDINALITY AS middle (place, start) ORDER BY middle.start)
    FROM climb WHERE climb.steps < cardinality(climb.ancestors)
), in_cycle AS (
    SELECT DISTINCT final.place
    FROM (SELECT climb.ancestors FROM climb ORDER BY climb.steps DESC LIMIT 1) AS furthest
    CROSS JOIN LATERAL unnest(furthest.ancestors) AS final (place)
)
SELECT provider.uuid::text, format('provider %s is its own ancestor', provider.id)
FROM in_cycle
JOIN unreachable ON unreachable.place = in_cycle.place
JOIN resource_providers AS provider ON provider.id = unreachable.id
ORDER BY provider.id;
