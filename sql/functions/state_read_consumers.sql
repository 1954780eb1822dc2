-- Returns the consumers that exist, with their allocations, as arrays: see state_read.
--
-- holders: positions of the consumers of the allocations. held: ids of their providers. Locks nothing.
-- Plan: consumers_uuid_key, consumers_pkey, then ranges of allocations_pkey, each a look-up for every consumer.
CREATE OR REPLACE FUNCTION state_read_consumers(
    p_consumers uuid[],
    OUT uuids uuid[], OUT generations bigint[], OUT projects text[], OUT users text[], OUT types text[],
    OUT holders int[], OUT held bigint[], OUT classes int[], OUT amounts bigint[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_ids bigint[] := '{}'::bigint[];
BEGIN
    uuids := '{}';
    generations := '{}';
    projects := '{}';
    users := '{}';
    types := '{}';
    holders := '{}';
    held := '{}';
    classes := '{}';
    amounts := '{}';
    IF p_consumers <> '{}' THEN
        SELECT /* state_read_consumers 1/2 */
            coalesce(array_agg(consumer.id), '{}'), coalesce(array_agg(consumer.uuid), '{}'),
            coalesce(array_agg(consumer.generation), '{}'), coalesce(array_agg(consumer.project), '{}'),
            coalesce(array_agg(consumer.owner), '{}'), coalesce(array_agg(consumer.type), '{}')
        INTO v_ids, uuids, generations, projects, users, types
        FROM unnest(p_consumers) AS requested (uuid)
        CROSS JOIN LATERAL (
            SELECT one.id, one.uuid, one.generation,
                (SELECT project.external_id FROM projects AS project WHERE project.id = one.project_id) AS project,
                (SELECT owner.external_id FROM users AS owner WHERE owner.id = one.user_id) AS owner,
                coalesce((SELECT type.name FROM consumer_types AS type WHERE type.id = one.consumer_type_id), '') AS type
            FROM consumers AS one WHERE one.uuid = requested.uuid OFFSET 0
        ) AS consumer;
    END IF;
    IF v_ids <> '{}' THEN
        SELECT /* state_read_consumers 2/2 */
            coalesce(array_agg(listed.position::int), '{}'), coalesce(array_agg(allocation.provider_id), '{}'),
            coalesce(array_agg(allocation.class_id), '{}'), coalesce(array_agg(allocation.used), '{}')
        INTO holders, held, classes, amounts
        FROM unnest(v_ids) WITH ORDINALITY AS listed (id, position)
        CROSS JOIN LATERAL (
            SELECT one.provider_id, one.class_id, one.used FROM allocations AS one WHERE one.consumer_id = listed.id OFFSET 0
        ) AS allocation;
    END IF;
END
$$;
