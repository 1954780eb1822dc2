-- Compares the generations that clients say their consumers have.
--
-- p_ids in request order, p_new_ids those made by this request, p_generations
-- what the client says, p_unseen where it says that there is no such consumer
-- yet. Raises PL003 for the first that differs. The caller holds the consumers.
CREATE OR REPLACE FUNCTION consumer_check_generation(
    p_ids bigint[], p_new_ids bigint[], p_generations bigint[], p_unseen bool[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_wrong record;
BEGIN
    SELECT consumer.uuid, present.generation AS actual, said.generation AS given INTO v_wrong
    FROM unnest(p_ids, p_generations, p_unseen) WITH ORDINALITY AS wanted (id, generation, unseen, place)
    CROSS JOIN LATERAL (SELECT CASE WHEN NOT wanted.unseen THEN wanted.generation END AS generation) AS said
    JOIN consumers AS consumer ON consumer.id = wanted.id
    LEFT JOIN consumers AS present ON present.id = wanted.id AND present.id <> ALL (p_new_ids)
    WHERE present.generation IS DISTINCT FROM said.generation
    ORDER BY wanted.place
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'generation of consumer % is %, not %', v_wrong.uuid, v_wrong.actual, v_wrong.given
            USING ERRCODE = 'PL003',
            DETAIL = json_build_object('consumer', v_wrong.uuid, 'actual', v_wrong.actual, 'given', v_wrong.given);
    END IF;
END
$$;
