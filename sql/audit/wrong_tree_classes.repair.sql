WITH counted AS MATERIALIZED (
    SELECT inventory.root_id, inventory.class_id, count(*) AS providers
    FROM inventories AS inventory GROUP BY inventory.root_id, inventory.class_id
), deleted AS (
    DELETE FROM tree_classes AS tree
    WHERE NOT EXISTS (
        SELECT FROM counted WHERE counted.root_id = tree.root_id AND counted.class_id = tree.class_id)
    RETURNING tree.root_id
), written AS (
    INSERT INTO tree_classes AS existing (root_id, class_id, providers)
    SELECT counted.root_id, counted.class_id, counted.providers FROM counted
    ON CONFLICT (root_id, class_id) DO UPDATE SET providers = excluded.providers
    WHERE existing.providers <> excluded.providers
    RETURNING existing.root_id
)
SELECT deleted.root_id FROM deleted UNION ALL SELECT written.root_id FROM written;
