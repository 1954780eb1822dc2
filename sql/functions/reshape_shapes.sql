-- The providers that a reshape gives new inventories, with their ids, in request
-- order. provider_id is null for one that does not exist.
CREATE OR REPLACE FUNCTION reshape_shapes(p_inventories jsonb)
RETURNS TABLE (place bigint, provider uuid, generation bigint, records jsonb, provider_id bigint, root_id bigint)
LANGUAGE sql STABLE AS $$
    SELECT item.place, (item.shape ->> 'provider')::uuid, (item.shape ->> 'generation')::bigint,
        item.shape -> 'records', present.id, present.root_id
    FROM jsonb_array_elements(p_inventories) WITH ORDINALITY AS item (shape, place)
    LEFT JOIN LATERAL (
        SELECT one.id, one.root_id FROM resource_providers AS one
        WHERE one.uuid = (item.shape ->> 'provider')::uuid OFFSET 0
    ) AS present ON true
    ORDER BY item.place;
$$;
