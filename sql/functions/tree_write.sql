-- Writes the differences of PUT /resource_providers/{uuid}/tree: providers, the union of old and new inventories, the
-- allocations, traits and aggregates; then drops inventories and deletes providers.
--
-- p_root_id, p_locked: what tree_lock returned; p_changes: see tree_check; p_consumers: ids; the other arrays are those of
-- allocation_replace. Returns the providers on which allocations change.
-- Raises what tree_replace lists from PL009 on, and 40001 if a provider of an allocation was created concurrently.
-- Locks: nothing more, except new rows.
-- Calls: tree_write_providers, tree_write_inventories, tree_write_sets, allocation_resolve, allocation_differences,
-- allocation_write_changes, tree_drop_inventories, tree_delete.
CREATE OR REPLACE FUNCTION tree_write(
    p_root uuid, p_root_id bigint, p_locked bigint[], p_changes jsonb, p_consumers bigint[],
    p_owners int[], p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_root bigint := tree_write_providers(p_root, p_root_id, p_changes);
    v_parts record;
    v_named record;
    v_allocations record;
BEGIN
    SELECT /* tree_write 1/9 */ coalesce(array_agg(part.provider_id), '{}') AS providers,
        bool_or(part.records <> '[]') AS records, bool_or(part.inventories IS NOT NULL) AS inventories,
        bool_or(part.traits IS NOT NULL OR part.aggregates IS NOT NULL) AS sets
    INTO v_parts FROM tree_parts(p_changes) AS part;
    IF v_parts.records THEN
        PERFORM /* tree_write 2/9 */ tree_write_inventories(v_root, p_changes);
    END IF;
    IF v_parts.sets THEN
        PERFORM /* tree_write 3/9 */ tree_write_sets(v_root, p_changes);
    END IF;
    v_named := allocation_resolve(p_providers, p_classes);
    IF EXISTS (
        SELECT /* tree_write 4/9 */ unnest(v_named.providers) EXCEPT SELECT unnest(p_locked)
        EXCEPT SELECT (SELECT made.id FROM resource_providers AS made WHERE made.uuid = change.provider)
            FROM tree_changes(p_changes) AS change WHERE change.provider_id IS NULL
    ) THEN
        RAISE EXCEPTION 'a provider of the request was created concurrently' USING ERRCODE = '40001';
    END IF;
    v_allocations := allocation_differences(p_consumers, p_owners, v_named.providers, v_named.classes, p_amounts);
    PERFORM /* tree_write 5/9 */ allocation_write_changes(v_allocations.consumers, v_allocations.providers, v_allocations.classes,
        v_allocations.amounts, v_allocations.previous);
    IF v_parts.inventories THEN
        PERFORM /* tree_write 6/9 */ tree_drop_inventories(p_changes);
    END IF;
    IF EXISTS (SELECT /* tree_write 7/9 */ FROM tree_changes(p_changes) AS change WHERE change.is_deleted AND change.provider_id IS NOT NULL) THEN
        PERFORM /* tree_write 8/9 */ tree_delete(p_changes);
    END IF;
    UPDATE /* tree_write 9/9 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (v_parts.providers || v_allocations.providers);
    RETURN v_allocations.providers;
END
$$;
