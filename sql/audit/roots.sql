-- Providers whose root_id is not their topmost ancestor. Goes down from the roots, so
-- that loops, and what is below a parent that does not exist, are not looked at.
WITH RECURSIVE downward AS (
    SELECT root.id, root.id AS topmost FROM resource_providers AS root WHERE root.parent_id IS NULL
    UNION ALL  -- ends at the leaves: each provider has one parent
    SELECT child.id, above.topmost FROM downward AS above JOIN resource_providers AS child ON child.parent_id = above.id
)
SELECT provider.uuid::text, format('provider %s has root %s, not %s', provider.id, provider.root_id, downward.topmost)
FROM resource_providers AS provider JOIN downward ON downward.id = provider.id
WHERE provider.root_id <> downward.topmost
ORDER BY provider.id;
