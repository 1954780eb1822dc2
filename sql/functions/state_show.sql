-- Returns providers, consumers, resource classes and traits as the API shows them, for a dry run: before and after the
-- write. Names that do not exist are missing in the result.
--
-- The providers are those of p_providers and those on which the consumers have allocations. usages has the classes of the
-- inventories. Traits are sorted by name, aggregates by UUID.
-- Called by Store.rehearse. Locks nothing.
-- Plan: unique keys of the names, then ranges of the primary keys of the tables by provider and by consumer.
CREATE OR REPLACE FUNCTION state_show(p_providers uuid[], p_consumers uuid[], p_classes text[], p_traits text[])
RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_consumers bigint[];
    v_providers bigint[];
BEGIN
    v_consumers := ARRAY(SELECT /* state_show 1/3 */ consumer.id FROM unnest(p_consumers) AS requested (uuid)
        CROSS JOIN LATERAL (SELECT one.id FROM consumers AS one WHERE one.uuid = requested.uuid OFFSET 0) AS consumer);
    v_providers := ARRAY(SELECT /* state_show 2/3 */ provider.id FROM unnest(p_providers) AS requested (uuid)
        CROSS JOIN LATERAL (SELECT one.id FROM resource_providers AS one WHERE one.uuid = requested.uuid OFFSET 0) AS provider
        UNION SELECT held.provider_id FROM unnest(v_consumers) AS listed (id)
        CROSS JOIN LATERAL (SELECT allocation.provider_id FROM allocations AS allocation
            WHERE allocation.consumer_id = listed.id OFFSET 0) AS held);
    RETURN jsonb_build_object(
        'providers', (SELECT /* state_show 3/3 */ coalesce(jsonb_object_agg(shown.uuid, shown.state), '{}')
            FROM unnest(v_providers) AS listed (id) CROSS JOIN LATERAL state_show_provider(listed.id) AS shown),
        'consumers', (SELECT coalesce(jsonb_object_agg(shown.uuid, shown.state), '{}')
            FROM unnest(v_consumers) AS listed (id) CROSS JOIN LATERAL state_show_consumer(listed.id) AS shown),
        'resource_classes', ARRAY(SELECT class.name FROM resource_classes AS class
            WHERE class.name = ANY (p_classes) ORDER BY class.name),
        'traits', ARRAY(SELECT trait.name FROM traits AS trait WHERE trait.name = ANY (p_traits) ORDER BY trait.name));
END
$$;
