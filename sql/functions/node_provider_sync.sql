-- Makes a node's provider what it has to be: uuid and name are the node's uuid; one
-- unit of the node's class; the node's traits. Does nothing if nodes are no providers
-- or there is no such node, and writes nothing that is right already.
--
-- The unit is reserved while the node cannot be given away: it is not available, in
-- maintenance, of unknown or wrong power state, or an instance has it. p_lend: it is
-- not reserved all the same, for a claim in the same transaction. Units of other
-- classes go; while they are claimed they stay, and all are reserved.
-- A provider that exists already, as nova makes them, is taken over. Classes and
-- custom traits are made where they are missing.
-- Raises 23505 (resource_providers_name_key: another provider has the name).
-- Locks: class and traits where they are missing, in that order; the root FOR SHARE, then the
-- provider. The caller holds the node, so no other request makes the same provider.
CREATE OR REPLACE FUNCTION node_provider_sync(p_node bigint, p_lend bool) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_node nodes;
    v_traits text[];
    v_held record;
BEGIN
    SELECT node.* INTO v_node FROM nodes AS node WHERE node.id = p_node;
    IF NOT FOUND OR NOT (SELECT backend.placement FROM baremetal_backend AS backend) THEN
        RETURN;
    END IF;
    INSERT INTO resource_classes (name)
    SELECT wanted.name FROM node_provider_class(v_node.resource_class) AS wanted (name)
    WHERE wanted.name IS NOT NULL
      AND NOT EXISTS (SELECT FROM resource_classes AS class WHERE class.name = wanted.name)
    ON CONFLICT DO NOTHING;
    v_traits := ARRAY(SELECT present.trait FROM node_traits AS present WHERE present.node_id = p_node ORDER BY present.trait);
    INSERT INTO traits (name)
    SELECT wanted.name FROM unnest(v_traits) AS wanted (name)
    WHERE NOT EXISTS (SELECT FROM traits AS trait WHERE trait.name = wanted.name)
    ORDER BY wanted.name
    ON CONFLICT DO NOTHING;

    IF NOT EXISTS (SELECT FROM resource_providers AS provider WHERE provider.uuid = v_node.uuid) THEN
        PERFORM provider_create(v_node.uuid, v_node.uuid::text, NULL);
    END IF;
    v_held := lock_provider(v_node.uuid, NULL, true, true);
    -- Asked first, since a write of nothing costs as much as one of something, and traits
    -- rarely change when a node is given away.
    IF v_traits <> ARRAY(
        SELECT (SELECT trait.name FROM traits AS trait WHERE trait.id = present.trait_id) AS name
        FROM provider_traits AS present WHERE present.provider_id = v_held.provider_id ORDER BY name
    ) THEN
        PERFORM provider_traits_replace(v_node.uuid, NULL, v_traits);
    END IF;
    IF node_provider_write(v_node, v_held.provider_id, v_held.root_id, p_lend) THEN
        PERFORM bump_provider(v_held.provider_id);
    END IF;
END
$$;
