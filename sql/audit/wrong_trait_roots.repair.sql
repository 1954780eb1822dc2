WITH RECURSIVE tree_member AS (
    SELECT root.id, root.id AS root_id FROM resource_providers AS root WHERE root.parent_id IS NULL
    UNION ALL
    SELECT child.id, parent.root_id FROM tree_member AS parent JOIN resource_providers AS child ON child.parent_id = parent.id

), trait AS (
    UPDATE provider_traits AS provider_trait SET root_id = tree_member.root_id
    FROM tree_member WHERE tree_member.id = provider_trait.provider_id AND provider_trait.root_id <> tree_member.root_id
    RETURNING provider_trait.provider_id
), membership AS (
    UPDATE provider_aggregates AS member SET root_id = tree_member.root_id
    FROM tree_member WHERE tree_member.id = member.provider_id AND member.root_id <> tree_member.root_id
    RETURNING member.provider_id
)
SELECT trait.provider_id FROM trait UNION ALL SELECT membership.provider_id FROM membership;
