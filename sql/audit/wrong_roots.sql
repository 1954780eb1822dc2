-- Providers whose root_id is not the root of their tree. The recursion starts at the roots, so it omits
-- parent cycles and descendants of parents that do not exist.
WITH RECURSIVE tree_member AS (
    SELECT root.id, root.id AS root_id FROM resource_providers AS root WHERE root.parent_id IS NULL
    UNION ALL  -- ends at the leaves: each provider has one parent
    SELECT child.id, parent.root_id FROM tree_member AS parent JOIN resource_providers AS child ON child.parent_id = parent.id
)
SELECT provider.uuid::text, format('provider %s has root %s, not %s', provider.id, provider.root_id, tree_member.root_id)
FROM resource_providers AS provider JOIN tree_member ON tree_member.id = provider.id
WHERE provider.root_id <> tree_member.root_id
ORDER BY provider.id;
