-- Makes the projects, users and consumer types that a request names first.
--
-- They are never deleted, so this runs once for each. If the request fails later,
-- the transaction takes them back. An empty type is none.
-- Locks: the new rows, in the order of their names.
CREATE OR REPLACE FUNCTION consumer_references(p_projects text[], p_users text[], p_types text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO projects (external_id)
    SELECT DISTINCT wanted.id FROM unnest(p_projects) AS wanted (id)
    WHERE NOT EXISTS (SELECT FROM projects AS present WHERE present.external_id = wanted.id)
    ORDER BY wanted.id ON CONFLICT DO NOTHING;
    INSERT INTO users (external_id)
    SELECT DISTINCT wanted.id FROM unnest(p_users) AS wanted (id)
    WHERE NOT EXISTS (SELECT FROM users AS present WHERE present.external_id = wanted.id)
    ORDER BY wanted.id ON CONFLICT DO NOTHING;
    INSERT INTO consumer_types (name)
    SELECT DISTINCT wanted.name FROM unnest(p_types) AS wanted (name)
    WHERE wanted.name <> ''
      AND NOT EXISTS (SELECT FROM consumer_types AS present WHERE present.name = wanted.name)
    ORDER BY wanted.name ON CONFLICT DO NOTHING;
END
$$;
