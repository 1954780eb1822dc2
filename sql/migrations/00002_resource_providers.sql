-- Resource providers in trees, their generations, traits and aggregates.
-- New tables: waits for no lock and needs no preparation.

-- +goose Up

-- Resource providers: entities with inventories, such as compute nodes, NUMA nodes, network functions and
-- storage pools, organized in trees. Updates change trait_ids and aggregate_ids, which no index contains:
-- fillfactor 80 leaves room in the page, so that these updates are HOT.
CREATE TABLE resource_providers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    uuid uuid NOT NULL, -- Key in the API.
    -- Name in the API. COLLATE "C" compares bytes, so that the index does not depend on the libc of the
    -- server: with another collation, an upgrade of libc can make a unique index miss rows.
    name text COLLATE "C" NOT NULL,
    -- Root of the tree; equal to id for a root. A copy of what parent_id implies, so that a whole tree is one
    -- range of an index. A transaction that changes or copies it holds the row lock of the root.
    root_id bigint NOT NULL,
    parent_id bigint, -- Parent provider; null for a root.
    -- Copy of provider_traits, in ascending order, maintained by triggers on that table. It answers whether
    -- one provider qualifies, from its own row; the index of provider_traits answers which providers have a
    -- trait. It has no index on purpose: with a GIN index the planner reads the list of a common trait to
    -- check a single provider.
    trait_ids int[] NOT NULL DEFAULT '{}',
    aggregate_ids int[] NOT NULL DEFAULT '{}', -- Copy of provider_aggregates, maintained like trait_ids.
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of creation.
    CONSTRAINT resource_providers_uuid_key UNIQUE (uuid),
    CONSTRAINT resource_providers_name_key UNIQUE (name),
    CONSTRAINT resource_providers_root_id_fkey FOREIGN KEY (root_id) REFERENCES resource_providers (id),
    CONSTRAINT resource_providers_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES resource_providers (id),
    CONSTRAINT resource_providers_root_check CHECK ((parent_id IS NULL) = (root_id = id))
) WITH (fillfactor = 80);
-- All providers of a tree; with their ids, so that a page of trees finds its inventories by them.
CREATE INDEX resource_providers_root_id_idx ON resource_providers (root_id, id);
-- Children of a provider.
CREATE INDEX resource_providers_parent_id_idx ON resource_providers (parent_id) WHERE parent_id IS NOT NULL;
-- All roots, in the order of their ids.
CREATE INDEX resource_providers_roots_idx ON resource_providers (id) WHERE parent_id IS NULL;
-- All roots, in a pseudo-random order.
CREATE INDEX resource_providers_shuffled_roots_idx ON resource_providers (hashint8extended(id, 0), id)
    WHERE parent_id IS NULL;

-- Generation of each provider: one narrow row per provider. Its row lock is the lock of the provider: a
-- transaction that writes inventories, allocations, traits or aggregates of the provider holds it. Each of
-- these writes updates the row; with fillfactor 50 the updates are HOT.
CREATE TABLE provider_generations (
    provider_id bigint PRIMARY KEY, -- Provider.
    generation bigint NOT NULL DEFAULT 0, -- Provider generation; a write with a stale value yields 409.
    updated_at timestamptz, -- Time of the last write to the provider; null for a child that was only created.
    CONSTRAINT provider_generations_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES resource_providers (id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Traits of providers.
CREATE TABLE provider_traits (
    provider_id bigint NOT NULL, -- Provider that has the trait.
    trait_id int NOT NULL, -- Trait.
    -- Copy of the provider's root_id: the trees that have a trait are in one index range. A transaction that
    -- changes or copies it holds the row lock of the provider.
    root_id bigint NOT NULL,
    PRIMARY KEY (provider_id, trait_id),
    CONSTRAINT provider_traits_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES resource_providers (id),
    CONSTRAINT provider_traits_trait_id_fkey FOREIGN KEY (trait_id) REFERENCES traits (id)
);
-- Providers that have a trait, tree by tree: for candidates with two traits, two such lists are merged.
CREATE INDEX provider_traits_trait_id_idx ON provider_traits (trait_id, root_id, provider_id);

-- Aggregates of providers.
CREATE TABLE provider_aggregates (
    provider_id bigint NOT NULL, -- Provider in the aggregate.
    aggregate_id int NOT NULL, -- Aggregate.
    -- Whether the provider has the trait MISC_SHARES_VIA_AGGREGATE; maintained by triggers on provider_traits
    -- and provider_aggregates.
    sharing bool NOT NULL DEFAULT false,
    root_id bigint NOT NULL, -- Copy of the provider's root_id, as that of provider_traits.
    PRIMARY KEY (provider_id, aggregate_id),
    CONSTRAINT provider_aggregates_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES resource_providers (id),
    CONSTRAINT provider_aggregates_aggregate_id_fkey FOREIGN KEY (aggregate_id) REFERENCES aggregates (id)
);
-- Providers in an aggregate, tree by tree.
CREATE INDEX provider_aggregates_aggregate_id_idx ON provider_aggregates (aggregate_id, root_id, provider_id);
-- Sharing providers in an aggregate: few among up to 10,000 hosts.
CREATE INDEX provider_aggregates_sharing_idx ON provider_aggregates (aggregate_id, provider_id) WHERE sharing;
