-- The staging tables of an import: a copy of the source, which SQL validates and then writes. The import
-- creates them in the schema berth_import when it begins to copy, and drops them when it ends.
--
-- They are as in the source, with three differences: the original text of a UUID stands beside it where it is
-- not the canonical form, times have a time zone, and there are no foreign keys. They are unlogged: after a
-- crash of PostgreSQL they are empty, and so are the positions, so that the import copies everything again.

-- How far an import has copied each table of its source.
CREATE UNLOGGED TABLE import_positions (
    table_name text COLLATE "C" PRIMARY KEY, -- Table of the source.
    -- Hash of the source and of the layout of these tables. An import continues a copy only if it is its own.
    fingerprint text NOT NULL,
    row_count bigint NOT NULL, -- Number of rows copied.
    first_key bigint NOT NULL, -- First column of the key of the last row copied.
    second_key bigint NOT NULL -- Second column of that key; 0 if the key has one column.
);

-- Copy of resource_classes.
CREATE UNLOGGED TABLE import_staging_resource_classes (
    id bigint PRIMARY KEY, -- Id in the source.
    name text COLLATE "C" NOT NULL, -- Name.
    created_at timestamptz, -- Time of creation.
    updated_at timestamptz, -- Time of the last change.
    class_id int -- Id in Berth, set by the validation.
);

-- Copy of traits.
CREATE UNLOGGED TABLE import_staging_traits (
    id bigint PRIMARY KEY, -- Id in the source.
    name text COLLATE "C" NOT NULL, -- Name.
    created_at timestamptz, -- Time of creation.
    updated_at timestamptz, -- Time of the last change.
    trait_id int -- Id in Berth, set when traits are written.
);

-- Copy of placement_aggregates.
CREATE UNLOGGED TABLE import_staging_aggregates (
    id bigint PRIMARY KEY, -- Id in the source.
    uuid uuid, -- UUID.
    original_text text COLLATE "C", -- UUID as in the source; null if it is in the canonical form.
    created_at timestamptz -- Time of creation.
);

-- Copy of projects.
CREATE UNLOGGED TABLE import_staging_projects (
    id bigint PRIMARY KEY, -- Id in the source, and in Berth.
    external_id text COLLATE "C" NOT NULL, -- Id of the project in the API.
    created_at timestamptz -- Time of creation.
);

-- Copy of users.
CREATE UNLOGGED TABLE import_staging_users (
    id bigint PRIMARY KEY, -- Id in the source, and in Berth.
    external_id text COLLATE "C" NOT NULL, -- Id of the user in the API.
    created_at timestamptz -- Time of creation.
);

-- Copy of consumer_types.
CREATE UNLOGGED TABLE import_staging_consumer_types (
    id bigint PRIMARY KEY, -- Id in the source, and in Berth.
    name text COLLATE "C" NOT NULL, -- Name.
    created_at timestamptz -- Time of creation.
);

-- Copy of resource_providers.
CREATE UNLOGGED TABLE import_staging_resource_providers (
    id bigint PRIMARY KEY, -- Id in the source, and in Berth.
    uuid uuid NOT NULL, -- UUID.
    original_text text COLLATE "C", -- UUID as in the source; null if it is in the canonical form.
    name text, -- Name.
    generation bigint, -- Provider generation.
    root_provider_id bigint, -- Root in the source.
    parent_provider_id bigint, -- Parent in the source; it may not exist.
    created_at timestamptz, -- Time of creation.
    updated_at timestamptz, -- Time of the last change.
    parent_id bigint, -- Parent in Berth, set by the validation.
    root_id bigint -- Root in Berth, set by the validation.
);
-- Children of a provider.
CREATE INDEX import_staging_resource_providers_parent_id_idx ON import_staging_resource_providers (parent_id);

-- Copy of resource_provider_traits.
CREATE UNLOGGED TABLE import_staging_provider_traits (
    resource_provider_id bigint NOT NULL, -- Provider; it may not exist.
    trait_id bigint NOT NULL, -- Trait in the source; it may not exist.
    PRIMARY KEY (resource_provider_id, trait_id)
);

-- Copy of resource_provider_aggregates.
CREATE UNLOGGED TABLE import_staging_provider_aggregates (
    resource_provider_id bigint NOT NULL, -- Provider; it may not exist.
    aggregate_id bigint NOT NULL, -- Aggregate in the source; it may not exist.
    PRIMARY KEY (resource_provider_id, aggregate_id)
);

-- Copy of inventories.
CREATE UNLOGGED TABLE import_staging_inventories (
    id bigint PRIMARY KEY, -- Id in the source.
    resource_provider_id bigint NOT NULL, -- Provider; it may not exist.
    resource_class_id bigint NOT NULL, -- Resource class in the source; it may not exist.
    total bigint NOT NULL, -- Total amount.
    reserved bigint NOT NULL, -- Amount that consumers cannot allocate.
    min_unit bigint NOT NULL, -- Smallest amount of one allocation.
    max_unit bigint NOT NULL, -- Largest amount of one allocation.
    step_size bigint NOT NULL, -- Amounts of allocations are multiples of it.
    allocation_ratio float8 NOT NULL, -- Overcommit factor.
    created_at timestamptz, -- Time of creation.
    updated_at timestamptz -- Time of the last change.
);
-- Inventory of a provider and class.
CREATE INDEX import_staging_inventories_key_idx ON import_staging_inventories (resource_provider_id, resource_class_id);

-- Copy of consumers.
CREATE UNLOGGED TABLE import_staging_consumers (
    id bigint PRIMARY KEY, -- Id in the source, and in Berth.
    uuid uuid NOT NULL, -- UUID.
    original_text text COLLATE "C", -- UUID as in the source; null if it is in the canonical form.
    project_id bigint NOT NULL, -- Project; it may not exist.
    user_id bigint NOT NULL, -- User; it may not exist.
    generation bigint NOT NULL, -- Consumer generation.
    consumer_type_id bigint, -- Type; it may not exist.
    created_at timestamptz, -- Time of creation.
    updated_at timestamptz -- Time of the last change.
);
-- Consumers with one UUID.
CREATE INDEX import_staging_consumers_uuid_idx ON import_staging_consumers (uuid, id);

-- Copy of allocations.
CREATE UNLOGGED TABLE import_staging_allocations (
    id bigint PRIMARY KEY, -- Id in the source.
    resource_provider_id bigint NOT NULL, -- Provider; it may not exist.
    consumer_uuid uuid NOT NULL, -- UUID of the consumer, which may not exist.
    original_text text COLLATE "C", -- UUID as in the source; null if it is in the canonical form.
    resource_class_id bigint NOT NULL, -- Resource class in the source; it may not exist.
    used bigint NOT NULL, -- Amount.
    created_at timestamptz, -- Time of creation.
    updated_at timestamptz -- Time of the last change.
);
-- Allocations of a consumer.
CREATE INDEX import_staging_allocations_consumer_uuid_idx ON import_staging_allocations (consumer_uuid);
