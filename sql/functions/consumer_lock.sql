-- Locks the consumers of a request, making those that do not exist yet.
--
-- p_uuids, p_projects, p_users, p_types: one element a consumer; an empty type is
-- none. p_unseen says where the client thinks that the consumer is new; it is a
-- hint. A new consumer gets generation 1, which is what it has if the request
-- succeeds; if it fails, the transaction takes the consumer back. Returns, in the
-- order given: ids, generations (-1 for a new consumer), and the ids of projects,
-- users and types (0 for none).
-- Locks: new projects, users and types in the order of their names; then the
-- consumers in uuid order FOR NO KEY UPDATE, one by one, whether made or found.
--
-- Here and in the functions around it, rows are looked up by scalar subqueries
-- and loops on purpose: each is an index lookup in every plan, while a join of an
-- array to a table is at times planned as a scan of the table.
CREATE OR REPLACE FUNCTION consumer_lock(
    p_uuids uuid[], p_projects text[], p_users text[], p_types text[], p_unseen bool[],
    OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types int[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_missing bool;
    v_order int[];
    v_place int;
    v_id bigint;
    v_generation bigint;
BEGIN
    -- By far the most requests are for one consumer that is new, of a project, user
    -- and type that are not: one statement is enough for those.
    IF cardinality(p_uuids) = 1 AND p_unseen[1] THEN
        INSERT INTO consumers AS made (uuid, generation, project_id, user_id, consumer_type_id)
        SELECT p_uuids[1], 1, found.project, found.owner, found.type
        FROM (
            SELECT (SELECT project.id FROM projects AS project WHERE project.external_id = p_projects[1]) AS project,
                (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_users[1]) AS owner,
                (SELECT type.id FROM consumer_types AS type WHERE type.name = p_types[1]) AS type
            OFFSET 0  -- looked up once, although each is asked for twice
        ) AS found
        WHERE found.project IS NOT NULL AND found.owner IS NOT NULL AND (found.type IS NOT NULL OR p_types[1] = '')
          AND NOT EXISTS (SELECT FROM consumers AS present WHERE present.uuid = p_uuids[1])
        ON CONFLICT (uuid) DO NOTHING
        RETURNING ARRAY[made.id], '{-1}'::bigint[], ARRAY[made.project_id], ARRAY[made.user_id],
            ARRAY[coalesce(made.consumer_type_id, 0)]
        INTO ids, generations, projects, users, types;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;

    LOOP
        SELECT coalesce(array_agg(found.project), '{}'), coalesce(array_agg(found.owner), '{}'),
            coalesce(array_agg(found.type), '{}'), coalesce(array_agg(found.place ORDER BY found.uuid), '{}'),
            bool_or(found.project IS NULL OR found.owner IS NULL OR found.type IS NULL)
        INTO projects, users, types, v_order, v_missing
        FROM (
            SELECT wanted.place, wanted.uuid,
                (SELECT project.id FROM projects AS project WHERE project.external_id = wanted.project) AS project,
                (SELECT owner.id FROM users AS owner WHERE owner.external_id = wanted.owner) AS owner,
                CASE WHEN wanted.type = '' THEN 0
                    ELSE (SELECT type.id FROM consumer_types AS type WHERE type.name = wanted.type) END AS type
            FROM unnest(p_uuids, p_projects, p_users, p_types)
                WITH ORDINALITY AS wanted (uuid, project, owner, type, place)
            ORDER BY wanted.place
        ) AS found;
        EXIT WHEN v_missing IS NOT TRUE;
        PERFORM consumer_references(p_projects, p_users, p_types);
    END LOOP;

    ids := array_fill(0, ARRAY[cardinality(p_uuids)]);
    generations := ids;
    FOREACH v_place IN ARRAY v_order LOOP
        LOOP
            SELECT held.id, held.generation INTO v_id, v_generation
            FROM consumers AS held WHERE held.uuid = p_uuids[v_place] FOR NO KEY UPDATE;
            EXIT WHEN FOUND;
            v_generation := -1;
            INSERT INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
            VALUES (p_uuids[v_place], 1, projects[v_place], users[v_place], nullif(types[v_place], 0))
            ON CONFLICT (uuid) DO NOTHING
            RETURNING id INTO v_id;
            -- If another request was faster, its consumer is found in the next turn.
            EXIT WHEN FOUND;
        END LOOP;
        ids[v_place] := v_id;
        generations[v_place] := v_generation;
    END LOOP;
END
$$;
