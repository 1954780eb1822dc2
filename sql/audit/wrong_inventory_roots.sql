-- Inventories whose root_id is not the root of their provider's tree. As wrong_roots, it omits parent
-- cycles and descendants of parents that do not exist.
WITH RECURSIVE tree_member AS (
    SELECT root.id, root.id AS root_id FROM resource_providers AS root WHERE root.parent_id IS NULL
    UNION ALL
    SELECT child.id, parent.root_id FROM tree_member AS parent JOIN resource_providers AS child ON child.parent_id = parent.id
)
SELECT provider.uuid::text, format('inventory of class %s on provider %s has root %s, not %s',
    inventory.class_id, inventory.provider_id, inventory.root_id, tree_member.root_id)
FROM inventories AS inventory
JOIN tree_member ON tree_member.id = inventory.provider_id
JOIN resource_providers AS provider ON provider.id = inventory.provider_id
WHERE inventory.root_id <> tree_member.root_id
ORDER BY inventory.provider_id, inventory.class_id;
