-- Returns the name of the resource class in Placement for the class of a node; null if it has none.
--
-- Different classes may map to one name ("a-b", "a.b"), so a function that chooses a node compares the
-- node's own class too.
CREATE OR REPLACE FUNCTION node_provider_class_name(p_class text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN 'CUSTOM_' || upper(regexp_replace(nullif(p_class, ''), '[^0-9A-Za-z]+', '_', 'g'));
END
$$;
