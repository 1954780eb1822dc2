-- The UUIDs of aggregates as notes have them: a sorted array, empty without aggregates; null for null.
CREATE OR REPLACE FUNCTION history_aggregate_uuids(p_ids int[]) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT /* history_aggregate_uuids 1/1 */ to_jsonb(ARRAY(SELECT member.uuid FROM aggregates AS member WHERE member.id = ANY (p_ids) ORDER BY member.uuid))
    WHERE p_ids IS NOT NULL
$$;
