-- Reports whether a provider with these traits and aggregates meets a condition of a candidate query. A null
-- argument of the condition requires nothing.
--
-- p_required, p_forbidden: all of these traits, none of these. p_required_any: a trait of each of these sets.
-- p_member_of: one of these aggregates. p_member_of_too: and one of each of these sets. p_not_member_of: none
-- of these aggregates.
-- Called by CandidatePage and CandidatePageGeneral for each provider and condition. PostgreSQL inlines it: a
-- plan shows the expression instead of the call. Locks nothing.
-- Calls: array_overlaps_each.
CREATE OR REPLACE FUNCTION candidate_meets(
    p_trait_ids int[], p_aggregate_ids int[],
    p_required int[], p_forbidden int[], p_required_any text[],
    p_member_of int[], p_member_of_too text[], p_not_member_of int[]
) RETURNS bool
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (p_required IS NULL OR p_trait_ids @> p_required)
    AND (p_forbidden IS NULL OR NOT p_trait_ids && p_forbidden)
    AND (p_required_any IS NULL OR array_overlaps_each(p_trait_ids, p_required_any))
    AND (p_member_of IS NULL OR p_aggregate_ids && p_member_of)
    AND (p_member_of_too IS NULL OR array_overlaps_each(p_aggregate_ids, p_member_of_too))
    AND (p_not_member_of IS NULL OR NOT p_aggregate_ids && p_not_member_of);
