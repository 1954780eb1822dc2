-- The traits that a node must have, of those that an allocation asks for: not those
-- that it must lack (!NAME), and not the lists of which it must have one (in:NAME,NAME).
-- In plpgsql, since a function in sql is planned anew in every transaction.
CREATE OR REPLACE FUNCTION node_allocation_plain(p_traits text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT wanted.trait FROM unnest(p_traits) WITH ORDINALITY AS wanted (trait, place)
        WHERE wanted.trait NOT LIKE '!%' AND wanted.trait NOT LIKE 'in:%'
        ORDER BY wanted.place);
END
$$;
