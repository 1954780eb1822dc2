-- Locks the consumers of PATCH /reshaper, and inserts those that the request creates.
--
-- p_projects, p_users, p_types: empty: not sent. p_unseen: the request has a null generation; with a project, user and
-- type it creates a consumer that does not exist. Returns, in the order of p_consumers: ids (0: does not exist),
-- generations (-1: did not exist before), the ids of projects, users and types (null: not sent), and whether the request
-- changes one of them for a consumer that existed. Raises nothing; reshape_patch_check_consumers compares.
-- Locks: new projects, users and types in the order of their names; then the consumers FOR NO KEY UPDATE in the order of
-- their UUIDs, one by one, inserted or found.
-- Calls: consumer_ensure_references.
CREATE OR REPLACE FUNCTION reshape_patch_consumers(
    p_consumers uuid[], p_projects text[], p_users text[], p_types text[], p_unseen bool[],
    OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types int[],
    OUT differs bool[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_position int;
    v_found record;
BEGIN
    PERFORM /* reshape_patch_consumers 1/5 */ consumer_ensure_references(array_remove(p_projects, ''), array_remove(p_users, ''), p_types);
    SELECT /* reshape_patch_consumers 2/5 */ coalesce(array_agg(0::bigint), '{}'), coalesce(array_agg(-1::bigint), '{}'), coalesce(array_agg(false), '{}'),
        coalesce(array_agg((SELECT project.id FROM projects AS project WHERE project.external_id = item.project)
            ORDER BY item.position), '{}'),
        coalesce(array_agg((SELECT owner.id FROM users AS owner WHERE owner.external_id = item.owner)
            ORDER BY item.position), '{}'),
        coalesce(array_agg((SELECT type.id FROM consumer_types AS type WHERE type.name = item.type)
            ORDER BY item.position), '{}')
    INTO ids, generations, differs, projects, users, types
    FROM unnest(p_projects, p_users, p_types) WITH ORDINALITY AS item (project, owner, type, position);
    FOR v_position IN SELECT /* reshape_patch_consumers 3/5 */ requested.position
        FROM unnest(p_consumers) WITH ORDINALITY AS requested (uuid, position) ORDER BY requested.uuid
    LOOP
        LOOP
            SELECT /* reshape_patch_consumers 4/5 */ consumer.id, consumer.generation, consumer.project_id, consumer.user_id, consumer.consumer_type_id
            INTO v_found FROM consumers AS consumer WHERE consumer.uuid = p_consumers[v_position] FOR NO KEY UPDATE;
            IF FOUND THEN
                generations[v_position] := v_found.generation;
                differs[v_position] := coalesce(projects[v_position] <> v_found.project_id, false)
                    OR coalesce(users[v_position] <> v_found.user_id, false)
                    OR types[v_position] IS NOT NULL AND types[v_position] IS DISTINCT FROM v_found.consumer_type_id;
            END IF;
            EXIT WHEN FOUND OR NOT p_unseen[v_position] OR projects[v_position] IS NULL OR users[v_position] IS NULL
                OR types[v_position] IS NULL;
            INSERT /* reshape_patch_consumers 5/5 */ INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
            VALUES (p_consumers[v_position], 1, projects[v_position], users[v_position], types[v_position])
            ON CONFLICT (uuid) DO NOTHING RETURNING id INTO v_found;
            -- Another transaction inserted the consumer: the next iteration locks it.
            EXIT WHEN FOUND;
        END LOOP;
        ids[v_position] := coalesce(v_found.id, 0);
    END LOOP;
END
$$;
