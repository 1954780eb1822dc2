-- Locks the rows that tree_replace writes, except names and consumers, which the caller has locked.
--
-- p_changes: tree_differences before the locks; p_consumers: the locked consumers; p_providers: the providers of the
-- requested allocations. Returns the id of the provider of the path, null if it does not exist, and the providers whose
-- generations are locked. If the provider of the path is not a root, it locks nothing more.
-- Locks: the root FOR NO KEY UPDATE, as provider_lock_root does, or FOR UPDATE if the request deletes it; then in the
-- order of their ids the rows of the tree's named providers FOR NO KEY UPDATE, of those to delete FOR UPDATE, of other
-- requested parents FOR KEY SHARE; then the generations of these and of all providers with new or present allocations
-- of the consumers. The lock of the root keeps providers from entering and leaving the tree.
-- Calls: allocation_lock_providers.
CREATE OR REPLACE FUNCTION tree_lock(
    p_root uuid, p_changes jsonb, p_consumers bigint[], p_providers uuid[], OUT root_id bigint, OUT locked bigint[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_root bigint;
    v_row record;
BEGIN
    locked := '{}'::bigint[];
    SELECT /* tree_lock 1/10 */ provider.id INTO v_root FROM resource_providers AS provider WHERE provider.uuid = p_root;
    -- Lock a root that is deleted FOR UPDATE at once (provider_delete_checked explains why).
    IF EXISTS (SELECT /* tree_lock 2/10 */ FROM tree_changes(p_changes) AS change
        WHERE change.provider = p_root AND change.is_deleted) THEN
        PERFORM /* tree_lock 3/10 */ FROM resource_providers AS root WHERE root.id = v_root FOR UPDATE;
    ELSE
        PERFORM /* tree_lock 4/10 */ FROM resource_providers AS root WHERE root.id = v_root FOR NO KEY UPDATE;
    END IF;
    SELECT /* tree_lock 5/10 */ root.id INTO root_id FROM resource_providers AS root WHERE root.id = v_root;
    IF EXISTS (SELECT /* tree_lock 6/10 */ FROM resource_providers AS root
        WHERE root.id = v_root AND root.root_id <> root.id) THEN
        RETURN;
    END IF;
    FOR v_row IN
        SELECT /* tree_lock 7/10 */ existing.id, max(named.strength) AS strength
        FROM (
            SELECT change.provider AS uuid, CASE WHEN change.is_deleted THEN 3 ELSE 2 END AS strength
            FROM tree_changes(p_changes) AS change
            UNION ALL
            SELECT change.parent, 1 FROM tree_changes(p_changes) AS change WHERE change.parent IS NOT NULL
        ) AS named
        CROSS JOIN LATERAL (
            SELECT provider.id, provider.root_id FROM resource_providers AS provider
            WHERE provider.uuid = named.uuid OFFSET 0
        ) AS existing
        WHERE existing.root_id = v_root
        GROUP BY existing.id ORDER BY existing.id
    LOOP
        PERFORM /* tree_lock 8/10 */ tree_lock_provider(v_row.id, v_row.strength);
        locked := locked || v_row.id;
    END LOOP;
    locked := locked || ARRAY(SELECT /* tree_lock 9/10 */ (SELECT provider.id FROM resource_providers AS provider
        WHERE provider.uuid = named.uuid) FROM unnest(p_providers) AS named (uuid));
    PERFORM /* tree_lock 10/10 */ allocation_lock_providers(p_consumers, locked);
END
$$;
