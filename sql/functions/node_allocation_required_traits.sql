-- Returns the traits that a node must have, out of the trait expressions of an allocation. It omits
-- forbidden traits (!NAME) and any-of lists (in:NAME,NAME).
-- It is written in PL/pgSQL, because PostgreSQL plans an SQL function again in every transaction.
CREATE OR REPLACE FUNCTION node_allocation_required_traits(p_traits text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT /* node_allocation_required_traits 1/1 */ requested.trait
        FROM unnest(p_traits) WITH ORDINALITY AS requested (trait, position)
        WHERE requested.trait NOT LIKE '!%' AND requested.trait NOT LIKE 'in:%'
        ORDER BY requested.position);
END
$$;
