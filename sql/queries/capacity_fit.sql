-- Resolves the names in the changes of a question about capacity, each list in its order: ids of classes and aggregates (-1
-- for those that do not exist), the roots of the trees of providers (-1 likewise), and of each of these trees the name of the
-- oldest provider that shares its inventory through an aggregate ('' for none).
-- Called by Search.CapacityFit. Locks nothing.
-- Plan: unique keys; for each tree a range of resource_providers_root_id_idx, and of provider_aggregates_pkey for each of its
-- providers.
-- name: CapacityFitNames :one
SELECT
    ARRAY(
        SELECT COALESCE((SELECT class.id FROM resource_classes AS class WHERE class.name = requested.name), -1)
        FROM unnest(@classes::text[]) WITH ORDINALITY AS requested (name, position) ORDER BY requested.position
    )::int[] AS class_ids,
    ARRAY(
        SELECT COALESCE((SELECT aggregate.id FROM aggregates AS aggregate WHERE aggregate.uuid = requested.uuid), -1)
        FROM unnest(@aggregates::uuid[]) WITH ORDINALITY AS requested (uuid, position) ORDER BY requested.position
    )::int[] AS aggregate_ids,
    ARRAY(
        SELECT COALESCE((SELECT member.root_id FROM resource_providers AS member WHERE member.uuid = requested.uuid), -1)
        FROM unnest(@providers::uuid[]) WITH ORDINALITY AS requested (uuid, position) ORDER BY requested.position
    )::bigint[] AS root_ids,
    ARRAY(
        SELECT COALESCE((
            SELECT sharer.name
            FROM resource_providers AS member
            CROSS JOIN LATERAL (
                SELECT provider.id, provider.name FROM resource_providers AS provider WHERE provider.root_id = member.root_id OFFSET 0
            ) AS sharer
            WHERE member.uuid = requested.uuid
              AND EXISTS (SELECT FROM provider_aggregates AS own WHERE own.provider_id = sharer.id AND own.sharing)
            ORDER BY sharer.id
            LIMIT 1
        ), '')
        FROM unnest(@providers::uuid[]) WITH ORDINALITY AS requested (uuid, position) ORDER BY requested.position
    )::text[] AS sharer_names;

-- Returns the settings of the inventories of some classes on some providers, by provider and class: what a question about capacity needs
-- beside a page of candidates, for the units of amounts and for other ratios and reserved amounts.
-- Called by Search.CapacityFit and Search.EmptyReason for each page of trees, in the snapshot of the page. Locks nothing.
-- Plan: inventories_pkey, once for each provider and class.
-- name: CapacityFitInventories :many
SELECT
    inventory.provider_id, inventory.class_id, inventory.total::bigint AS total, inventory.reserved::bigint AS reserved,
    inventory.min_unit::bigint AS min_unit, inventory.max_unit::bigint AS max_unit, inventory.step_size::bigint AS step_size,
    inventory.allocation_ratio
FROM unnest(@classes::int[]) AS requested (class_id)
CROSS JOIN LATERAL (
    SELECT own.* FROM inventories AS own
    WHERE own.provider_id = ANY(@providers::bigint[]) AND own.class_id = requested.class_id OFFSET 0
) AS inventory
ORDER BY inventory.provider_id, inventory.class_id;
