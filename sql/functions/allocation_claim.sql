-- allocation_replace for what nearly all requests ask for: amounts of one provider
-- for one new consumer, whose project, user and type are known already.
--
-- Returns whether it was such a request and all is done; if not, nothing is.
-- p_type may be empty, p_classes and p_amounts have one element an allocation.
-- Raises what allocation_replace raises. Locks: the consumer by making it, the
-- provider by raising its generation, then the inventories.
--
-- A statement costs as much as the rows it writes, so there are three. The first
-- looks all names up while it makes the consumer. The last writes an allocation for
-- each inventory that has room; it begins when the provider is held, and so sees
-- what whoever held it before has left.
CREATE OR REPLACE FUNCTION allocation_claim(
    p_consumer uuid, p_project text, p_user text, p_type text,
    p_provider uuid, p_classes text[], p_amounts bigint[]
) RETURNS bool
LANGUAGE plpgsql AS $$
DECLARE
    v_consumer bigint;
    v_provider bigint;
    v_classes int[];
    v_written int;
BEGIN
    INSERT INTO consumers AS made (uuid, generation, project_id, user_id, consumer_type_id)
    SELECT p_consumer, 1, found.project, found.owner, found.type
    FROM (
        SELECT (SELECT project.id FROM projects AS project WHERE project.external_id = p_project) AS project,
            (SELECT owner.id FROM users AS owner WHERE owner.external_id = p_user) AS owner,
            (SELECT type.id FROM consumer_types AS type WHERE type.name = p_type) AS type
        OFFSET 0  -- looked up once, although each is asked for twice
    ) AS found
    WHERE found.project IS NOT NULL AND found.owner IS NOT NULL AND (found.type IS NOT NULL OR p_type = '')
      AND NOT EXISTS (SELECT FROM consumers AS present WHERE present.uuid = p_consumer)
    ON CONFLICT (uuid) DO NOTHING
    RETURNING made.id,
        (SELECT provider.id FROM resource_providers AS provider WHERE provider.uuid = p_provider),
        ARRAY(
            SELECT (SELECT class.id FROM resource_classes AS class WHERE class.name = wanted.class)
            FROM unnest(p_classes) WITH ORDINALITY AS wanted (class, place)
            ORDER BY wanted.place)
    INTO v_consumer, v_provider, v_classes;
    IF v_consumer IS NULL THEN
        RETURN false;
    END IF;
    UPDATE provider_generations SET generation = generation + 1, updated_at = now() WHERE provider_id = v_provider;
    WITH taken AS (
        UPDATE inventories SET used = used + p_amounts[array_position(v_classes, class_id)]
        WHERE provider_id = v_provider AND class_id = ANY (v_classes)
          AND min_unit <= p_amounts[array_position(v_classes, class_id)]
          AND max_unit >= p_amounts[array_position(v_classes, class_id)]
          AND p_amounts[array_position(v_classes, class_id)] % step_size = 0
          -- Amounts reach the end of bigint; on this side of the comparison nothing overflows.
          AND p_amounts[array_position(v_classes, class_id)] <= (total - reserved) * allocation_ratio - used
        RETURNING class_id
    )
    INSERT INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT v_consumer, v_provider, taken.class_id, p_amounts[array_position(v_classes, taken.class_id)]
    FROM taken ORDER BY array_position(v_classes, taken.class_id);
    GET DIAGNOSTICS v_written = ROW_COUNT;
    IF v_written < cardinality(p_classes) THEN
        PERFORM allocation_claim_refuse(v_consumer, p_provider, v_provider, p_classes, v_classes, p_amounts);
    END IF;
    RETURN true;
END
$$;
