-- Returns the providers that get new inventories in a reshape, with their ids, in the order of the request.
-- provider_id is null for a provider that does not exist.
CREATE OR REPLACE FUNCTION reshape_providers(p_inventories jsonb)
RETURNS TABLE (request_position bigint, provider uuid, generation bigint, records jsonb, provider_id bigint,
    root_id bigint)
LANGUAGE sql STABLE AS $$
    SELECT /* reshape_providers 1/1 */ item.position, (item.shape ->> 'provider')::uuid,
        (item.shape ->> 'generation')::bigint,
        item.shape -> 'records', existing.id, existing.root_id
    FROM jsonb_array_elements(p_inventories) WITH ORDINALITY AS item (shape, position)
    LEFT JOIN LATERAL (
        SELECT provider.id, provider.root_id FROM resource_providers AS provider
        WHERE provider.uuid = (item.shape ->> 'provider')::uuid OFFSET 0
    ) AS existing ON true
    ORDER BY item.position;
$$;
