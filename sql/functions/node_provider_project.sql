-- The project of an owner's allocations in Placement; the nil uuid for nobody's,
-- which is their user, too.
CREATE OR REPLACE FUNCTION node_provider_project(p_owner text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN coalesce(nullif(p_owner, ''), '00000000-0000-0000-0000-000000000000');
END
$$;
