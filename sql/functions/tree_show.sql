-- Returns the result of PUT /resource_providers/{uuid}/tree: {providers, consumers}, arrays of what became of each.
--
-- A provider has provider, change (created, updated, unchanged or deleted), changed (the parts of an updated one) and
-- generation; a consumer has consumer, change and consumer_generation. A generation is missing for what does not exist
-- afterwards. p_changes, p_consumers: the differences before the writes; p_usages: the providers on which allocations
-- change, also those that the request does not name. Locks nothing.
-- Plan: keys.
CREATE OR REPLACE FUNCTION tree_show(p_changes jsonb, p_consumers jsonb, p_usages bigint[]) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    WITH /* tree_show 1/1 */ usage AS MATERIALIZED (
        SELECT DISTINCT used.id FROM unnest(p_usages) AS used (id)
    ), found AS MATERIALIZED (
        SELECT change.*, existing.id AS id_now, existing.generation AS generation_now
        FROM tree_changes(p_changes) AS change
        LEFT JOIN LATERAL (
            SELECT provider.id, (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = provider.id) AS generation
            FROM resource_providers AS provider WHERE provider.uuid = change.provider OFFSET 0
        ) AS existing ON true
    ), shown AS (
        SELECT found.request_position AS position, found.provider, found.generation_now AS generation,
            CASE WHEN found.is_deleted THEN CASE WHEN found.provider_id IS NULL THEN 'unchanged' ELSE 'deleted' END
                WHEN found.provider_id IS NULL THEN 'created' END AS change,
            array_remove(ARRAY[
                CASE WHEN found.name_differs THEN 'name' END, CASE WHEN found.parent_differs THEN 'parent' END,
                CASE WHEN found.records IS NOT NULL THEN 'inventories' END,
                CASE WHEN found.traits IS NOT NULL THEN 'traits' END,
                CASE WHEN found.aggregates IS NOT NULL THEN 'aggregates' END,
                CASE WHEN usage.id IS NOT NULL THEN 'usages' END], NULL) AS changed
        FROM found LEFT JOIN usage ON usage.id = found.id_now
        UNION ALL
        SELECT 4294967296 + usage.id, provider.uuid, provider.generation, NULL, '{usages}'
        FROM usage
        CROSS JOIN LATERAL (
            SELECT other.uuid, (SELECT generation_row.generation FROM provider_generations AS generation_row
                WHERE generation_row.provider_id = other.id) AS generation
            FROM resource_providers AS other WHERE other.id = usage.id OFFSET 0
        ) AS provider
        WHERE NOT EXISTS (SELECT FROM found WHERE found.id_now = usage.id)
    ), consumer AS (
        SELECT was.*, (SELECT now.generation FROM consumers AS now WHERE now.uuid = was.consumer) AS generation_now
        FROM jsonb_to_recordset(p_consumers) AS was (request_position bigint, consumer uuid, consumer_id bigint,
            differs bool)
    )
    SELECT jsonb_build_object(
        'providers', (SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('provider', shown.provider,
                'change', coalesce(shown.change, CASE WHEN shown.changed = '{}' THEN 'unchanged' ELSE 'updated' END),
                'changed', CASE WHEN shown.change IS NULL AND shown.changed <> '{}' THEN to_jsonb(shown.changed) END,
                'generation', shown.generation)) ORDER BY shown.position), '[]') FROM shown),
        'consumers', (SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('consumer', consumer.consumer,
                'change', CASE WHEN NOT consumer.differs THEN 'unchanged' WHEN consumer.consumer_id IS NULL THEN 'created'
                    WHEN consumer.generation_now IS NULL THEN 'deleted' ELSE 'updated' END,
                'consumer_generation', consumer.generation_now)) ORDER BY consumer.request_position), '[]')
            FROM consumer));
$$;
