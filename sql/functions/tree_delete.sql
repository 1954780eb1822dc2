-- Deletes the providers that PUT /resource_providers/{uuid}/tree lists for deletion, with their inventories, traits and
-- aggregate memberships.
--
-- p_changes: see tree_check. Raises, each for the first of the request, PL015 (has allocations), then PL014 (has children
-- that are not deleted). The caller has locked the rows FOR UPDATE, their generations and the root.
CREATE OR REPLACE FUNCTION tree_delete(p_changes jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_ids bigint[];
    v_uuids uuid[];
    v_rules record;
BEGIN
    SELECT /* tree_delete 1/3 */ array_agg(change.provider_id ORDER BY change.request_position),
        array_agg(change.provider ORDER BY change.request_position)
    INTO v_ids, v_uuids
    FROM tree_changes(p_changes) AS change WHERE change.is_deleted AND change.provider_id IS NOT NULL;
    SELECT /* tree_delete 2/3 */
        min(deleted.position) FILTER (WHERE EXISTS (SELECT FROM allocations AS allocation
            WHERE allocation.provider_id = deleted.id)) AS in_use,
        min(deleted.position) FILTER (WHERE EXISTS (SELECT FROM resource_providers AS child
            WHERE child.parent_id = deleted.id AND child.id <> ALL (v_ids))) AS parent
    INTO v_rules FROM unnest(v_ids) WITH ORDINALITY AS deleted (id, position);
    IF v_rules.in_use IS NOT NULL OR v_rules.parent IS NOT NULL THEN
        RAISE EXCEPTION 'provider % cannot be deleted', v_uuids[coalesce(v_rules.in_use, v_rules.parent)]
            USING ERRCODE = CASE WHEN v_rules.in_use IS NULL THEN 'PL014' ELSE 'PL015' END,
            DETAIL = json_build_object('provider', v_uuids[coalesce(v_rules.in_use, v_rules.parent)]);
    END IF;

    -- One statement: the triggers that copy traits and aggregates find no row to write.
    WITH /* tree_delete 3/3 */ inventory AS (
        DELETE FROM inventories WHERE provider_id = ANY (v_ids)
    ), trait AS (
        DELETE FROM provider_traits WHERE provider_id = ANY (v_ids)
    ), aggregate AS (
        DELETE FROM provider_aggregates WHERE provider_id = ANY (v_ids)
    ), generation AS (
        DELETE FROM provider_generations WHERE provider_id = ANY (v_ids)
    )
    DELETE FROM resource_providers WHERE id = ANY (v_ids);
END
$$;
