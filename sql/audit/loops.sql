-- Providers that are their own ancestors. Climbs from all providers at once, and ends
-- at roots, at parents that do not exist, and where a loop closes.
WITH RECURSIVE upward AS (
    SELECT provider.id, provider.id AS ancestor, provider.parent_id FROM resource_providers AS provider
    WHERE provider.parent_id IS NOT NULL
    UNION ALL
    SELECT below.id, above.id, above.parent_id
    FROM upward AS below JOIN resource_providers AS above ON above.id = below.parent_id
) CYCLE ancestor SET is_loop USING path
SELECT provider.uuid::text, format('provider %s is below itself', provider.id)
FROM resource_providers AS provider
WHERE provider.id IN (SELECT upward.id FROM upward WHERE upward.is_loop)
ORDER BY provider.id;
