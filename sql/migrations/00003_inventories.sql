-- Inventories: how much of each resource class a provider has, and how much of it is used.
-- New tables: waits for no lock and needs no preparation.

-- +goose Up

-- An amount of at least 1. A domain, because PostgreSQL compiles a CHECK of the table for every update, also
-- of other columns: four of them took 10 of the 27 µs that an update of used takes.
CREATE DOMAIN positive_int AS int CHECK (VALUE >= 1);

-- An amount of at least 0. A domain for the same reason as positive_int.
CREATE DOMAIN natural_int AS int CHECK (VALUE >= 0);

-- Inventories: how much of a resource class a provider has. A claim succeeds if
-- used + amount <= (total - reserved) * allocation_ratio. Every claim updates used, so autovacuum starts at
-- 2 % dead rows and without a delay.
CREATE TABLE inventories (
    provider_id bigint NOT NULL, -- Provider that has the inventory.
    class_id int NOT NULL, -- Resource class.
    root_id bigint NOT NULL, -- Copy of the provider's root_id: the inventories of a tree in one index range.
    total positive_int NOT NULL, -- Total amount of the resource class on this provider.
    reserved natural_int NOT NULL, -- Amount that consumers cannot allocate.
    min_unit positive_int NOT NULL, -- Smallest amount of one allocation.
    max_unit positive_int NOT NULL, -- Largest amount of one allocation.
    step_size positive_int NOT NULL, -- Amounts of allocations are multiples of it.
    allocation_ratio float8 NOT NULL, -- Overcommit factor: capacity = (total - reserved) * allocation_ratio.
    -- Sum of allocations.used for this provider and class, maintained by the functions that write
    -- allocations. It may exceed the capacity, because totals can be lowered under running workloads.
    used bigint NOT NULL DEFAULT 0,
    -- Largest amount that one claim can still allocate, before min_unit and step_size. Valid ratios reach
    -- 3.4e38, so the product is clamped before the cast; capacity truncates toward zero, as the API reports
    -- it.
    free bigint NOT NULL GENERATED ALWAYS AS (
        greatest(
            least(max_unit::float8, trunc((total - reserved) * allocation_ratio) - used),
            -9007199254740992
        )::bigint
    ) STORED,
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of creation.
    updated_at timestamptz, -- Time of the last write of the inventory through the API; claims do not count.
    PRIMARY KEY (provider_id, class_id),
    CONSTRAINT inventories_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES resource_providers (id),
    CONSTRAINT inventories_class_id_fkey FOREIGN KEY (class_id) REFERENCES resource_classes (id),
    CONSTRAINT inventories_used_check CHECK (used >= 0)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- Inventories of a class with at least so much free capacity. With provider_id as the last column a search
-- through all of them continues where it stopped.
CREATE INDEX inventories_class_id_free_idx ON inventories (class_id, free, provider_id);

-- Trees by class: how many providers of a tree have an inventory of a class, whatever its free capacity. If
-- a request needs eight different providers of a class, other trees than those with at least eight need not
-- be searched. Maintained by triggers on inventories and by provider_reparent, under the row lock of the
-- root; claims do not change it. It has no foreign keys: the triggers delete the rows of a deleted root
-- only after the root.
CREATE TABLE tree_classes (
    root_id bigint NOT NULL, -- Root of the tree.
    class_id int NOT NULL, -- Resource class.
    providers int NOT NULL, -- Number of providers with an inventory of the class, at least 1.
    PRIMARY KEY (root_id, class_id)
);
-- Trees with at least so many providers of a class.
CREATE INDEX tree_classes_class_id_providers_idx ON tree_classes (class_id, providers, root_id);
