-- Traits and aggregates of providers whose root_id is not the root of their provider's tree. As wrong_roots, it
-- omits parent cycles and descendants of parents that do not exist.
WITH RECURSIVE tree_member AS (
    SELECT root.id, root.id AS root_id FROM resource_providers AS root WHERE root.parent_id IS NULL
    UNION ALL
    SELECT child.id, parent.root_id FROM tree_member AS parent JOIN resource_providers AS child ON child.parent_id = parent.id
)
SELECT provider.uuid::text, format('%s of provider %s has root %s, not %s', copy.name, provider.id, copy.root_id, tree_member.root_id)
FROM (
    SELECT 'trait ' || provider_trait.trait_id AS name, provider_trait.provider_id, provider_trait.root_id
    FROM provider_traits AS provider_trait
    UNION ALL
    SELECT 'aggregate ' || member.aggregate_id, member.provider_id, member.root_id
    FROM provider_aggregates AS member
) AS copy
JOIN tree_member ON tree_member.id = copy.provider_id
JOIN resource_providers AS provider ON provider.id = copy.provider_id
WHERE copy.root_id <> tree_member.root_id
ORDER BY provider.id, copy.name;
