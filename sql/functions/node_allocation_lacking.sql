-- What a node fails of the traits that an allocation asks for, in their order by name.
--
-- Locks nothing. Plan: the key of node_traits, once for each.
CREATE OR REPLACE FUNCTION node_allocation_lacking(p_node bigint, p_traits text[]) RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT wanted.trait FROM unnest(p_traits) AS wanted (trait)
        WHERE (wanted.trait LIKE '!%') = EXISTS (
            SELECT FROM node_traits AS present
            WHERE present.node_id = p_node
              AND present.trait = ANY (string_to_array(regexp_replace(wanted.trait, '^(!|in:)', ''), ',')))
        ORDER BY wanted.trait);
END
$$;
