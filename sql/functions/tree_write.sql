-- Writes the differences of PUT /resource_providers/{uuid}/tree: providers, the union of old and new inventories, the
-- allocations, traits and aggregates; then drops inventories and deletes providers.
--
-- p_root_id, p_locked: what tree_lock returned; p_changes: see tree_check; p_consumers: ids; the other arrays are those of
-- allocation_replace. Returns the providers on which allocations change.
-- Raises what tree_replace lists from PL009 on, and 40001 if a provider of an allocation was created concurrently.
-- Locks: nothing more, except new rows.
-- Calls: tree_write_providers, allocation_resolve, allocation_differences, allocation_write_changes, tree_delete; for each
-- provider with changes inventory_write, tree_write_sets and inventory_delete_except.
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
    v_bumped bigint[] := '{}'::bigint[];
BEGIN
    FOR v_parts IN SELECT /* tree_write 1/10 */ * FROM tree_parts(p_changes) LOOP
        v_bumped := v_bumped || v_parts.provider_id;
        IF v_parts.records <> '[]' THEN
            PERFORM /* tree_write 2/10 */ inventory_write(v_parts.provider_id, v_root, v_parts.records);
        END IF;
        PERFORM /* tree_write 3/10 */ tree_write_sets(v_parts.provider_id, v_root, v_parts.traits, v_parts.aggregates);
    END LOOP;
    v_named := allocation_resolve(p_providers, p_classes);
    IF EXISTS (
        SELECT /* tree_write 4/10 */ unnest(v_named.providers) EXCEPT SELECT unnest(p_locked)
        EXCEPT SELECT made.id FROM tree_changes(p_changes) AS change
            JOIN resource_providers AS made ON made.uuid = change.provider WHERE change.provider_id IS NULL
    ) THEN
        RAISE EXCEPTION 'a provider of the request was created concurrently' USING ERRCODE = '40001';
    END IF;
    v_allocations := allocation_differences(p_consumers, p_owners, v_named.providers, v_named.classes, p_amounts);
    PERFORM /* tree_write 5/10 */ allocation_write_changes(v_allocations.consumers, v_allocations.providers, v_allocations.classes,
        v_allocations.amounts, v_allocations.previous);
    FOR v_parts IN SELECT /* tree_write 6/10 */ * FROM tree_parts(p_changes) AS part WHERE part.inventories IS NOT NULL LOOP
        PERFORM /* tree_write 7/10 */ inventory_delete_except(v_parts.provider, v_parts.provider_id, inventory_names(v_parts.inventories));
    END LOOP;
    IF EXISTS (SELECT /* tree_write 8/10 */ FROM tree_changes(p_changes) AS change WHERE change.is_deleted AND change.provider_id IS NOT NULL) THEN
        PERFORM /* tree_write 9/10 */ tree_delete(p_changes);
    END IF;
    UPDATE /* tree_write 10/10 */ provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (v_bumped || v_allocations.providers);
    RETURN v_allocations.providers;
END
$$;
