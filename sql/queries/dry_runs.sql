-- Keeps the providers on which consumers have allocations, for StateShow in the same transaction: a write may move the
-- consumers away from them. It runs before the write, in the same batch, and locks nothing: see Store.rehearse for what
-- changes meanwhile.
-- Plan: consumers_uuid_key, then ranges of allocations_pkey.
-- name: HeldProvidersKeep :exec
SELECT set_config('berth.held_providers', ARRAY(
    SELECT DISTINCT provider.uuid
    FROM unnest(@consumers::uuid[]) AS requested (uuid)
    CROSS JOIN LATERAL (SELECT one.id FROM consumers AS one WHERE one.uuid = requested.uuid OFFSET 0) AS consumer
    CROSS JOIN LATERAL (
        SELECT allocation.provider_id FROM allocations AS allocation WHERE allocation.consumer_id = consumer.id OFFSET 0
    ) AS held
    CROSS JOIN LATERAL (
        SELECT one.uuid FROM resource_providers AS one WHERE one.id = held.provider_id OFFSET 0
    ) AS provider
)::text, true);

-- Returns the state after the write of a dry run, and before it. Called by Store.rehearse: first in the transaction of the
-- write, where it exports its snapshot and also has the providers of HeldProvidersKeep; then on another connection in that
-- snapshot. See the function.
-- name: StateShow :one
SELECT
    CASE WHEN @exports::bool THEN pg_export_snapshot() ELSE '' END::text AS snapshot,
    shown.provider_ids::bigint[] AS provider_ids, shown.provider_uuids::uuid[] AS provider_uuids,
    shown.providers::json AS providers,
    shown.consumers::uuid[] AS consumers, shown.generations::bigint[] AS generations,
    shown.projects::text[] AS projects, shown.users::text[] AS users, shown.types::text[] AS types,
    shown.holders::int[] AS holders, shown.held::bigint[] AS held, shown.held_classes::int[] AS held_classes,
    shown.amounts::bigint[] AS amounts, shown.class_ids::int[] AS class_ids, shown.class_names::text[] AS class_names,
    shown.classes::text[] AS classes, shown.traits::text[] AS traits
FROM state_read(
    @providers::uuid[] || coalesce(nullif(current_setting('berth.held_providers', true), ''), '{}')::uuid[],
    @consumers::uuid[], @classes::text[], @traits::text[]) AS shown;
