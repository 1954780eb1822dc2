-- Keeps the providers on which consumers have allocations, for StateShow in the same transaction: a write may move the
-- consumers away from them. It runs before the write, in the same batch, and locks nothing: see Store.rehearse for what
-- changes meanwhile. A write that names few resources has StateKeep instead.
-- Plan: consumers_uuid_key, then ranges of allocations_pkey.
-- name: HeldProvidersKeep :exec
SELECT set_config('berth.kept', ' ' || ARRAY(
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

-- Returns the state before a write that names few resources. It runs before the write, in the same batch, and locks nothing.
-- It keeps its snapshot and the providers of the state, for StateShow, which decides whether this is the state before the
-- write. Called by Store.rehearse. See the function.
-- name: StateKeep :one
SELECT
    set_config('berth.kept', pg_current_snapshot()::text || ' ' || shown.provider_uuids::text, true)::text AS snapshot,
    shown.provider_ids::bigint[] AS provider_ids, shown.provider_uuids::uuid[] AS provider_uuids,
    shown.providers::json AS providers,
    shown.consumers::uuid[] AS consumers, shown.generations::bigint[] AS generations,
    shown.projects::text[] AS projects, shown.users::text[] AS users, shown.types::text[] AS types,
    shown.holders::int[] AS holders, shown.held::bigint[] AS held, shown.held_classes::int[] AS held_classes,
    shown.amounts::bigint[] AS amounts, shown.class_ids::int[] AS class_ids, shown.class_names::text[] AS class_names,
    shown.classes::text[] AS classes, shown.traits::text[] AS traits,
    -- null: no consumer has a lease
    (
        SELECT jsonb_object_agg(leased.uuid, leased.lease)
        FROM unnest(shown.consumers) AS consumer (uuid)
        CROSS JOIN LATERAL (
            SELECT one.uuid, (SELECT lease_show(lease) FROM leases AS lease WHERE lease.consumer_id = one.id) AS lease
            FROM consumers AS one WHERE one.uuid = consumer.uuid AND one.leased OFFSET 0
        ) AS leased
    )::jsonb AS leases
FROM state_read(@providers::uuid[], @consumers::uuid[], @classes::text[], @traits::text[], @brief::bool) AS shown;

-- Returns the state after the write of a dry run, and before it. Called by Store.rehearse: first in the transaction of the
-- write, where it also has the providers of HeldProvidersKeep or StateKeep; then on another connection in that snapshot.
-- See the function.
--
-- In the transaction of the write, it exports its snapshot if the state that StateKeep has read is not the one before the
-- write: another transaction has ended since, or the state after the write has a provider that StateKeep did not look for.
-- A snapshot names the transactions that run, without its own. So both statements have the same snapshot unless another
-- transaction has ended between them.
-- name: StateShow :one
SELECT
    CASE WHEN @exports::bool AND (kept.snapshot <> pg_current_snapshot()::text OR NOT shown.provider_uuids <@ (@providers::uuid[] || kept.providers))
        THEN pg_export_snapshot() ELSE '' END::text AS snapshot,
    shown.provider_ids::bigint[] AS provider_ids, shown.provider_uuids::uuid[] AS provider_uuids,
    shown.providers::json AS providers,
    shown.consumers::uuid[] AS consumers, shown.generations::bigint[] AS generations,
    shown.projects::text[] AS projects, shown.users::text[] AS users, shown.types::text[] AS types,
    shown.holders::int[] AS holders, shown.held::bigint[] AS held, shown.held_classes::int[] AS held_classes,
    shown.amounts::bigint[] AS amounts, shown.class_ids::int[] AS class_ids, shown.class_names::text[] AS class_names,
    shown.classes::text[] AS classes, shown.traits::text[] AS traits,
    -- null: no consumer has a lease
    (
        SELECT jsonb_object_agg(leased.uuid, leased.lease)
        FROM unnest(shown.consumers) AS consumer (uuid)
        CROSS JOIN LATERAL (
            SELECT one.uuid, (SELECT lease_show(lease) FROM leases AS lease WHERE lease.consumer_id = one.id) AS lease
            FROM consumers AS one WHERE one.uuid = consumer.uuid AND one.leased OFFSET 0
        ) AS leased
    )::jsonb AS leases
FROM (
    SELECT split_part(setting.kept, ' ', 1) AS snapshot, coalesce(nullif(split_part(setting.kept, ' ', 2), ''), '{}')::uuid[] AS providers
    FROM (SELECT coalesce(current_setting('berth.kept', true), '') AS kept) AS setting
) AS kept
CROSS JOIN LATERAL state_read(
    @providers::uuid[] || kept.providers, @consumers::uuid[], @classes::text[], @traits::text[], @brief::bool) AS shown;
