-- Returns providers, consumers, resource classes and traits as the API shows them, for a dry run: before and after the
-- write. Names that do not exist are missing in the result.
--
-- The providers are those of p_providers and those on which the consumers have allocations. They are few: providers has their
-- states by UUID, with usages by the classes of the inventories, traits sorted by name, and aggregates by UUID. Consumers
-- and allocations can be thousands, so they are arrays, one element for each: a JSON object of each would cost several
-- times as much, while the transaction of the write holds its locks. A consumer without a type has an empty one. An
-- allocation has the position of its consumer, an id in provider_ids and an id in class_ids, the classes of allocations.
-- With p_brief, providers lack their parents, traits and aggregates, which a write of allocations does not change.
-- Called by the query StateShow. Calls: state_read_consumers, state_read_providers. Locks nothing.
-- Plan: unique keys of the names.
CREATE OR REPLACE FUNCTION state_read(
    p_providers uuid[], p_consumers uuid[], p_classes text[], p_traits text[], p_brief bool,
    OUT provider_ids bigint[], OUT provider_uuids uuid[], OUT providers json,
    OUT consumers uuid[], OUT generations bigint[], OUT projects text[], OUT users text[], OUT types text[],
    OUT holders int[], OUT held bigint[], OUT held_classes int[], OUT amounts bigint[],
    OUT class_ids int[], OUT class_names text[], OUT classes text[], OUT traits text[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_consumers record;
    v_providers record;
BEGIN
    v_consumers := state_read_consumers(p_consumers);
    v_providers := state_read_providers(p_providers, v_consumers.held, p_brief);
    provider_ids := v_providers.ids;
    provider_uuids := v_providers.uuids;
    providers := v_providers.states;
    consumers := v_consumers.uuids;
    generations := v_consumers.generations;
    projects := v_consumers.projects;
    users := v_consumers.users;
    types := v_consumers.types;
    holders := v_consumers.holders;
    held := v_consumers.held;
    held_classes := v_consumers.classes;
    amounts := v_consumers.amounts;
    class_ids := '{}';
    class_names := '{}';
    IF held <> '{}' THEN
        SELECT /* state_read 1/3 */ array_agg(found.id), array_agg(found.name) INTO class_ids, class_names
        FROM resource_classes AS found WHERE found.id = ANY (held_classes);
    END IF;
    classes := '{}';
    IF p_classes <> '{}' THEN
        classes := ARRAY(SELECT /* state_read 2/3 */ class.name FROM resource_classes AS class
            WHERE class.name = ANY (p_classes) ORDER BY class.name);
    END IF;
    traits := '{}';
    IF p_traits <> '{}' THEN
        traits := ARRAY(SELECT /* state_read 3/3 */ trait.name FROM traits AS trait
            WHERE trait.name = ANY (p_traits) ORDER BY trait.name);
    END IF;
END
$$;
