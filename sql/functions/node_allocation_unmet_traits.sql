-- Returns the trait expressions of an allocation that a node does not satisfy, sorted by name.
--
-- Locks nothing. Plan: the key of node_traits, once for each.
CREATE OR REPLACE FUNCTION node_allocation_unmet_traits(p_node bigint, p_traits text[]) RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* node_allocation_unmet_traits 1/1 */ DISTINCT requested.trait
        FROM unnest(p_traits) AS requested (trait)
        WHERE (requested.trait LIKE '!%') = EXISTS (
            SELECT FROM node_traits AS existing
            WHERE existing.node_id = p_node
              AND existing.trait = ANY (string_to_array(regexp_replace(requested.trait, '^(!|in:)', ''), ',')))
        ORDER BY requested.trait);
END
$$;
