-- Adds to the number of providers of a tree with an inventory of a class. p_providers is negative for
-- inventories that are deleted or moved to another tree.
--
-- A row that becomes 0 is deleted, so that the table has no rows of deleted trees and classes. Called by
-- tree_class_count and provider_reparent. The caller has locked the root FOR NO KEY UPDATE, or deletes it.
CREATE OR REPLACE FUNCTION tree_class_add(p_root_id bigint, p_class_id int, p_providers int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p_providers > 0 THEN
        INSERT /* tree_class_add 1/3 */ INTO tree_classes AS existing (root_id, class_id, providers)
        VALUES (p_root_id, p_class_id, p_providers)
        ON CONFLICT (root_id, class_id) DO UPDATE SET providers = existing.providers + excluded.providers;
        RETURN;
    END IF;
    DELETE /* tree_class_add 2/3 */ FROM tree_classes
    WHERE root_id = p_root_id AND class_id = p_class_id AND providers <= -p_providers;
    IF NOT FOUND THEN
        UPDATE /* tree_class_add 3/3 */ tree_classes SET providers = providers + p_providers
        WHERE root_id = p_root_id AND class_id = p_class_id;
    END IF;
END
$$;
