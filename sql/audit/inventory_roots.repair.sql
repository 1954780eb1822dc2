WITH RECURSIVE downward AS (
    SELECT root.id, root.id AS topmost FROM resource_providers AS root WHERE root.parent_id IS NULL
    UNION ALL
    SELECT child.id, above.topmost FROM downward AS above JOIN resource_providers AS child ON child.parent_id = above.id
)
UPDATE inventories AS inventory SET root_id = downward.topmost
FROM downward WHERE downward.id = inventory.provider_id AND inventory.root_id <> downward.topmost;
