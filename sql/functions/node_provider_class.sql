-- The name of the resource class that a node's class has in Placement; null for none.
--
-- Different classes may come to one ("a-b", "a.b"), so whoever chooses a node
-- compares the node's own class too.
CREATE OR REPLACE FUNCTION node_provider_class(p_class text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN 'CUSTOM_' || upper(regexp_replace(nullif(p_class, ''), '[^0-9A-Za-z]+', '_', 'g'));
END
$$;
