-- Returns the roots of the trees that satisfy two conditions, each of them a trait or an aggregate.
--
-- p_aggregates says how many of the two are aggregates; with one, the first is the trait. p_together: one
-- provider has both; otherwise any providers of the tree do. Returns at most p_limit roots above p_after, in
-- the order of their ids. Called by CandidateRootsByPair. Locks nothing.
--
-- Plan: a merge join of two ranges of an index, in their order, whatever the statistics are. Two traits of
-- 50,000 providers each, with none in common, take 10 to 20 ms, two of 100,000 twice that. The settings
-- exclude other joins: without statistics the planner may expect a row where there are 50,000, and a nested
-- loop would take minutes.
CREATE OR REPLACE FUNCTION candidate_roots_by_pair(
    p_aggregates int, p_first int, p_second int, p_together bool, p_after bigint, p_limit int
) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE
SET enable_nestloop = off SET enable_hashjoin = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashagg = off SET max_parallel_workers_per_gather = 0 AS $$
BEGIN
    IF p_aggregates = 0 AND p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 1/6 */ DISTINCT one.root_id
        FROM provider_traits AS one JOIN provider_traits AS other ON other.root_id = one.root_id AND other.provider_id = one.provider_id
        WHERE one.trait_id = p_first AND other.trait_id = p_second AND one.root_id > p_after AND other.root_id > p_after
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 0 AND NOT p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 2/6 */ one.root_id
        FROM (SELECT DISTINCT member.root_id FROM provider_traits AS member
            WHERE member.trait_id = p_first AND member.root_id > p_after) AS one
        JOIN (SELECT DISTINCT member.root_id FROM provider_traits AS member
            WHERE member.trait_id = p_second AND member.root_id > p_after) AS other ON other.root_id = one.root_id
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 1 AND p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 3/6 */ DISTINCT one.root_id
        FROM provider_traits AS one JOIN provider_aggregates AS other ON other.root_id = one.root_id AND other.provider_id = one.provider_id
        WHERE one.trait_id = p_first AND other.aggregate_id = p_second AND one.root_id > p_after AND other.root_id > p_after
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 1 AND NOT p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 4/6 */ one.root_id
        FROM (SELECT DISTINCT member.root_id FROM provider_traits AS member
            WHERE member.trait_id = p_first AND member.root_id > p_after) AS one
        JOIN (SELECT DISTINCT member.root_id FROM provider_aggregates AS member
            WHERE member.aggregate_id = p_second AND member.root_id > p_after) AS other ON other.root_id = one.root_id
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 2 AND p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 5/6 */ DISTINCT one.root_id
        FROM provider_aggregates AS one JOIN provider_aggregates AS other ON other.root_id = one.root_id AND other.provider_id = one.provider_id
        WHERE one.aggregate_id = p_first AND other.aggregate_id = p_second AND one.root_id > p_after AND other.root_id > p_after
        ORDER BY one.root_id LIMIT p_limit;
    ELSIF p_aggregates = 2 AND NOT p_together THEN
        RETURN QUERY SELECT /* candidate_roots_by_pair 6/6 */ one.root_id
        FROM (SELECT DISTINCT member.root_id FROM provider_aggregates AS member
            WHERE member.aggregate_id = p_first AND member.root_id > p_after) AS one
        JOIN (SELECT DISTINCT member.root_id FROM provider_aggregates AS member
            WHERE member.aggregate_id = p_second AND member.root_id > p_after) AS other ON other.root_id = one.root_id
        ORDER BY one.root_id LIMIT p_limit;
    END IF;
END
$$;
