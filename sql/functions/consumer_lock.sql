-- Locks the consumers of a request and inserts those that do not exist.
--
-- p_uuids, p_projects, p_users, p_types: one element per consumer; an empty type means none. p_unseen is a
-- hint: the client expects that the consumer is new. A new consumer gets generation 1, its generation after
-- the request; if the request fails, the transaction rolls it back. Returns, in the order of p_uuids: ids,
-- generations (-1 for a new consumer), and the ids of projects, users and types (0 for none).
-- Locks: new projects, users and types in the order of their names; then the consumers FOR NO KEY UPDATE in
-- the order of their UUIDs, one by one, inserted or found.
--
-- This function and those around it look rows up with scalar subqueries and loops on purpose: each lookup
-- is an index lookup in every plan. PostgreSQL sometimes plans a join of an array and a table as a scan of
-- the table.
CREATE OR REPLACE FUNCTION consumer_lock(
    p_uuids uuid[], p_projects text[], p_users text[], p_types text[], p_unseen bool[],
    OUT ids bigint[], OUT generations bigint[], OUT projects bigint[], OUT users bigint[], OUT types int[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_missing bool;
    v_order int[];
    v_position int;
    v_id bigint;
    v_generation bigint;
BEGIN
    -- Most requests are for one new consumer of a project, user and type that exist: one statement
    -- handles them.
    IF cardinality(p_uuids) = 1 AND p_unseen[1] THEN
        INSERT /* consumer_lock 1/5 */ INTO consumers AS made (uuid, generation, project_id, user_id, consumer_type_id)
        SELECT p_uuids[1], 1, found.project, found.owner, found.type
        FROM (
            SELECT (SELECT project.id FROM projects AS project WHERE project.external_id = p_projects[1]) AS project,
                (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_users[1]) AS owner,
                (SELECT type.id FROM consumer_types AS type WHERE type.name = p_types[1]) AS type
            OFFSET 0  -- one lookup of each, although each is used twice
        ) AS found
        WHERE found.project IS NOT NULL AND found.owner IS NOT NULL AND (found.type IS NOT NULL OR p_types[1] = '')
          AND NOT EXISTS (SELECT FROM consumers AS existing WHERE existing.uuid = p_uuids[1])
        ON CONFLICT (uuid) DO NOTHING
        RETURNING ARRAY[made.id], '{-1}'::bigint[], ARRAY[made.project_id], ARRAY[made.user_id],
            ARRAY[coalesce(made.consumer_type_id, 0)]
        INTO ids, generations, projects, users, types;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;

    LOOP
        -- Each aggregate states its order: since version 16 PostgreSQL sorts its input for one that
        -- does, and an aggregate without an order then receives the rows in that order.
        SELECT /* consumer_lock 2/5 */ coalesce(array_agg(found.project ORDER BY found.position), '{}'),
            coalesce(array_agg(found.owner ORDER BY found.position), '{}'),
            coalesce(array_agg(found.type ORDER BY found.position), '{}'),
            coalesce(array_agg(found.position ORDER BY found.uuid), '{}'),
            bool_or(found.project IS NULL OR found.owner IS NULL OR found.type IS NULL)
        INTO projects, users, types, v_order, v_missing
        FROM (
            SELECT requested.position, requested.uuid,
                (SELECT project.id FROM projects AS project WHERE project.external_id = requested.project) AS project,
                (SELECT owner.id FROM users AS owner WHERE owner.external_id = requested.owner) AS owner,
                CASE WHEN requested.type = '' THEN 0
                    ELSE (SELECT type.id FROM consumer_types AS type WHERE type.name = requested.type) END AS type
            FROM unnest(p_uuids, p_projects, p_users, p_types)
                WITH ORDINALITY AS requested (uuid, project, owner, type, position)
        ) AS found;
        EXIT WHEN v_missing IS NOT TRUE;
        PERFORM /* consumer_lock 3/5 */ consumer_ensure_references(p_projects, p_users, p_types);
    END LOOP;

    ids := array_fill(0, ARRAY[cardinality(p_uuids)]);
    generations := ids;
    FOREACH v_position IN ARRAY v_order LOOP
        LOOP
            SELECT /* consumer_lock 4/5 */ consumer.id, consumer.generation INTO v_id, v_generation
            FROM consumers AS consumer WHERE consumer.uuid = p_uuids[v_position] FOR NO KEY UPDATE;
            EXIT WHEN FOUND;
            v_generation := -1;
            INSERT /* consumer_lock 5/5 */ INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
            VALUES (p_uuids[v_position], 1, projects[v_position], users[v_position], nullif(types[v_position], 0))
            ON CONFLICT (uuid) DO NOTHING
            RETURNING id INTO v_id;
            -- Another transaction inserted the consumer: the next iteration locks it.
            EXIT WHEN FOUND;
        END LOOP;
        ids[v_position] := v_id;
        generations[v_position] := v_generation;
    END LOOP;
END
$$;
