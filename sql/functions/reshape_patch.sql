-- PATCH /reshaper: changes some inventories and some allocations in one transaction.
--
-- p_inventories: JSON array of {provider, generation, records, removed}, a null generation is not compared, records and
-- removed as in inventory_patch. Consumers: see reshape_patch_consumers and reshape_patch_check_consumers; the other arrays
-- are those of reshape_patch_changes. It first writes the union of the old and new inventories, then the allocations, then
-- deletes inventories. Each provider and consumer with changes gets the next generation, once; without a change it writes
-- nothing.
-- Returns {providers: [{provider, generation}], consumers: [{consumer, generation}]}: the providers whose generations
-- changed, those of p_inventories first, and all consumers; the generation of one that does not exist is null.
-- Raises, in this order: PL001, PL002 (see reshape_check_generations), PL075, PL003 (see reshape_patch_check_consumers),
-- PL009, PL004 (see allocation_resolve), for each provider PL076 (no total), PL006 (reserved), PL004 (unknown class); PL010,
-- PL011, PL012 (see allocation_raise_error), PL005 (a removed class is in use), 40001.
-- Locks: as reshape. Idempotent without generations.
-- Calls: reshape_patch_consumers, reshape_lock, reshape_check_generations, reshape_patch_check_consumers,
-- reshape_patch_changes, reshape_patch_inventories, allocation_write_changes, reshape_patch_remove, consumer_write_changes.
CREATE OR REPLACE FUNCTION reshape_patch(
    p_inventories jsonb,
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_generations bigint[], p_unseen bool[],
    p_removed bool[], p_owners int[], p_providers uuid[], p_classes text[], p_amounts bigint[]
) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    v_consumers record;
    v_locked bigint[];
    v_changes record;
    v_moved bigint[];
BEGIN
    v_consumers := reshape_patch_consumers(p_consumers, p_projects, p_users, p_types, p_unseen);
    v_locked := reshape_lock(p_inventories, v_consumers.ids, p_providers);
    PERFORM /* reshape_patch 1/7 */ reshape_check_generations(p_inventories, v_locked);
    PERFORM /* reshape_patch 2/7 */ reshape_patch_check_consumers(p_consumers, v_consumers.ids, v_consumers.generations, p_generations, p_unseen,
        p_removed);
    v_changes := reshape_patch_changes(v_consumers.ids, p_removed, p_owners, p_providers, p_classes, p_amounts);
    IF EXISTS (SELECT /* reshape_patch 3/7 */ change.provider_id FROM unnest(v_changes.providers, v_changes.amounts)
        AS change (provider_id, amount) WHERE change.amount > 0 EXCEPT SELECT unnest(v_locked)) THEN
        RAISE EXCEPTION 'a provider of the request was created concurrently' USING ERRCODE = '40001';
    END IF;
    v_moved := reshape_patch_inventories(p_inventories);
    PERFORM /* reshape_patch 4/7 */ allocation_write_changes(v_changes.consumers, v_changes.providers, v_changes.classes, v_changes.amounts,
        v_changes.previous);
    v_moved := v_moved || reshape_patch_remove(p_inventories) || v_changes.providers;
    PERFORM /* reshape_patch 5/7 */ consumer_write_changes(v_consumers.ids, v_consumers.projects, v_consumers.users, v_consumers.types,
        ARRAY(SELECT was.generation >= 0 AND (was.differs OR was.id = ANY (v_changes.consumers))
            FROM unnest(v_consumers.ids, v_consumers.generations, v_consumers.differs) WITH ORDINALITY
                AS was (id, generation, differs, position) ORDER BY was.position));
    UPDATE /* reshape_patch 6/7 */ provider_generations SET generation = generation + 1, updated_at = now() WHERE provider_id = ANY (v_moved);
    RETURN jsonb_build_object(
        'providers', (SELECT /* reshape_patch 7/7 */ coalesce(jsonb_agg(jsonb_build_object('provider', (SELECT provider.uuid
                FROM resource_providers AS provider WHERE provider.id = moved.id), 'generation', (
                SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = moved.id)) ORDER BY moved.position), '[]')
            FROM (SELECT one.id, min(one.position) AS position FROM unnest(v_moved) WITH ORDINALITY AS one (id, position)
                GROUP BY one.id) AS moved),
        'consumers', (SELECT coalesce(jsonb_agg(jsonb_build_object('consumer', named.uuid, 'generation', (
                SELECT consumer.generation FROM consumers AS consumer WHERE consumer.uuid = named.uuid))
                ORDER BY named.position), '[]')
            FROM unnest(p_consumers) WITH ORDINALITY AS named (uuid, position)));
END
$$;
