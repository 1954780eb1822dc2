-- Providers that are their own ancestors. The recursion follows the parents of all providers, and ends at
-- roots, at parents that do not exist, and where a cycle closes.
WITH RECURSIVE upward AS (
    SELECT provider.id, provider.id AS ancestor, provider.parent_id FROM resource_providers AS provider
    WHERE provider.parent_id IS NOT NULL
    UNION ALL
    SELECT upward.id, parent.id, parent.parent_id
    FROM upward JOIN resource_providers AS parent ON parent.id = upward.parent_id
) CYCLE ancestor SET is_cycle USING path
SELECT provider.uuid::text, format('provider %s is its own ancestor', provider.id)
FROM resource_providers AS provider
WHERE provider.id IN (SELECT upward.id FROM upward WHERE upward.is_cycle)
ORDER BY provider.id;
