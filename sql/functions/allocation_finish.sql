-- What a write of allocations does to generations and consumers.
--
-- Providers named in the new allocations gain one; so do those that a consumer
-- without new allocations had (p_left). Consumers without allocations are gone,
-- the others gain one and take project, user and, if given, type of the request.
-- The caller holds consumers and providers.
CREATE OR REPLACE FUNCTION allocation_finish(
    p_consumers bigint[], p_owners int[], p_providers bigint[], p_left bigint[],
    p_projects text[], p_users text[], p_types text[]
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE provider_generations SET generation = generation + 1, updated_at = now()
    WHERE provider_id = ANY (p_providers || p_left);

    UPDATE consumers AS consumer
    SET generation = consumer.generation + 1, updated_at = now(), project_id = project.id, user_id = owner.id,
        consumer_type_id = coalesce(type.id, consumer.consumer_type_id)
    FROM unnest(p_consumers, p_projects, p_users, p_types) WITH ORDINALITY AS wanted (id, project, owner, type, place)
    JOIN projects AS project ON project.external_id = wanted.project
    JOIN users AS owner ON owner.external_id = wanted.owner
    LEFT JOIN consumer_types AS type ON type.name = wanted.type
    WHERE consumer.id = wanted.id AND wanted.place = ANY (p_owners);

    IF EXISTS (SELECT FROM generate_subscripts(p_consumers, 1) AS place WHERE place <> ALL (p_owners)) THEN
        DELETE FROM consumers AS consumer USING unnest(p_consumers) WITH ORDINALITY AS wanted (id, place)
        WHERE consumer.id = wanted.id AND wanted.place <> ALL (p_owners);
    END IF;
END
$$;
