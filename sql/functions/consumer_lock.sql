-- Locks the consumers of a request, making those that do not exist yet.
--
-- p_uuids, p_projects, p_users, p_types: one element a consumer; an empty
-- type leaves the consumer's type as it is. New consumers get generation 0, and
-- projects, users and types are made on first use; if the request fails later,
-- the transaction takes all of that back. Returns the consumers' ids in the
-- order given, and the ids of those that are new.
-- Locks: new projects, users and types in the order of their names; then the
-- consumers in uuid order FOR NO KEY UPDATE.
CREATE OR REPLACE FUNCTION consumer_lock(
    p_uuids uuid[], p_projects text[], p_users text[], p_types text[], OUT ids bigint[], OUT new_ids bigint[]
)
LANGUAGE plpgsql AS $$
DECLARE
    v_made bigint[];
BEGIN
    INSERT INTO projects (external_id)
    SELECT DISTINCT wanted.id FROM unnest(p_projects) AS wanted (id)
    WHERE NOT EXISTS (SELECT FROM projects AS present WHERE present.external_id = wanted.id)
    ORDER BY wanted.id ON CONFLICT DO NOTHING;
    INSERT INTO users (external_id)
    SELECT DISTINCT wanted.id FROM unnest(p_users) AS wanted (id)
    WHERE NOT EXISTS (SELECT FROM users AS present WHERE present.external_id = wanted.id)
    ORDER BY wanted.id ON CONFLICT DO NOTHING;
    INSERT INTO consumer_types (name)
    SELECT DISTINCT wanted.name FROM unnest(p_types) AS wanted (name)
    WHERE wanted.name <> ''
      AND NOT EXISTS (SELECT FROM consumer_types AS present WHERE present.name = wanted.name)
    ORDER BY wanted.name ON CONFLICT DO NOTHING;

    new_ids := '{}';
    IF cardinality(p_uuids) = 0 THEN
        ids := '{}';
    END IF;
    -- Another request may empty and so delete a consumer between the two
    -- statements; then it is made anew.
    WHILE ids IS NULL LOOP
        WITH made AS (
            INSERT INTO consumers (uuid, generation, project_id, user_id, consumer_type_id)
            SELECT wanted.uuid, 0, project.id, owner.id, type.id
            FROM unnest(p_uuids, p_projects, p_users, p_types) AS wanted (uuid, project, owner, type)
            JOIN projects AS project ON project.external_id = wanted.project
            JOIN users AS owner ON owner.external_id = wanted.owner
            LEFT JOIN consumer_types AS type ON type.name = wanted.type
            WHERE NOT EXISTS (SELECT FROM consumers AS present WHERE present.uuid = wanted.uuid)
            ORDER BY wanted.uuid
            ON CONFLICT (uuid) DO NOTHING
            RETURNING id
        )
        SELECT array_agg(made.id) INTO v_made FROM made;
        new_ids := new_ids || coalesce(v_made, '{}');

        PERFORM FROM consumers AS held WHERE held.uuid = ANY (p_uuids) ORDER BY held.uuid FOR NO KEY UPDATE;
        SELECT array_agg(held.id ORDER BY wanted.place) INTO ids
        FROM unnest(p_uuids) WITH ORDINALITY AS wanted (uuid, place)
        JOIN consumers AS held ON held.uuid = wanted.uuid
        HAVING count(*) = cardinality(p_uuids);
    END LOOP;
END
$$;
