WITH RECURSIVE tree_member AS (
    SELECT root.id, root.id AS root_id FROM resource_providers AS root WHERE root.parent_id IS NULL
    UNION ALL
    SELECT child.id, parent.root_id FROM tree_member AS parent JOIN resource_providers AS child ON child.parent_id = parent.id
)
UPDATE inventories AS inventory SET root_id = tree_member.root_id
FROM tree_member WHERE tree_member.id = inventory.provider_id AND inventory.root_id <> tree_member.root_id;
