-- Inserts the projects, users and consumer types that do not exist yet.
--
-- They are never deleted, so this happens once for each. If the request fails later, the transaction rolls
-- the rows back. An empty type means none.
-- Locks: the new rows, in the order of their names.
CREATE OR REPLACE FUNCTION consumer_ensure_references(p_projects text[], p_users text[], p_types text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT /* consumer_ensure_references 1/3 */ INTO projects (external_id)
    SELECT DISTINCT requested.id FROM unnest(p_projects) AS requested (id)
    WHERE NOT EXISTS (SELECT FROM projects AS existing WHERE existing.external_id = requested.id)
    ORDER BY requested.id ON CONFLICT DO NOTHING;
    INSERT /* consumer_ensure_references 2/3 */ INTO users (external_id)
    SELECT DISTINCT requested.id FROM unnest(p_users) AS requested (id)
    WHERE NOT EXISTS (SELECT FROM users AS existing WHERE existing.external_id = requested.id)
    ORDER BY requested.id ON CONFLICT DO NOTHING;
    INSERT /* consumer_ensure_references 3/3 */ INTO consumer_types (name)
    SELECT DISTINCT requested.name FROM unnest(p_types) AS requested (name)
    WHERE requested.name <> ''
      AND NOT EXISTS (SELECT FROM consumer_types AS existing WHERE existing.name = requested.name)
    ORDER BY requested.name ON CONFLICT DO NOTHING;
END
$$;
