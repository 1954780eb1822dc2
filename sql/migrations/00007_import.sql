-- Where the database of a Python service waits to be judged, and the books of its
-- import. The tables are empty but for the books, unless an import is under way.
--
-- They are unlogged: what is lost with a crash of PostgreSQL is read again, and the
-- positions are lost with it. Fresh tables: no lock to wait for.

-- +goose Up
CREATE TABLE legacy_imports (
    only_row bool PRIMARY KEY DEFAULT true,
    -- The address of the source without its password.
    source text NOT NULL,
    -- Hash of everything in the source, so that a later run knows whether it changed.
    fingerprint text NOT NULL,
    -- When it began: the time of rows that have none.
    began_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    -- Hashes of what was written, by table; an import can be repeated as long as
    -- they are right.
    digests jsonb NOT NULL DEFAULT '{}',
    -- Names that the import added, which go when it is repeated.
    traits text[] NOT NULL DEFAULT '{}',
    resource_classes text[] NOT NULL DEFAULT '{}',
    CONSTRAINT legacy_imports_only_row_check CHECK (only_row)
);
COMMENT ON TABLE legacy_imports IS 'The import of a Python service''s database: one row, unfinished while finished_at is null.';

CREATE TABLE legacy_oddities (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    -- The row of the source, or what is odd about several.
    found jsonb NOT NULL
);
CREATE INDEX legacy_oddities_kind_idx ON legacy_oddities (kind, id);
COMMENT ON TABLE legacy_oddities IS 'What the last import found odd in its source. Kept until the next.';

-- How far each table was copied.
CREATE UNLOGGED TABLE legacy_positions (
    table_name text COLLATE "C" PRIMARY KEY,
    row_count bigint NOT NULL,
    -- The key of the last row; the second column of keys that have two.
    first_key bigint NOT NULL,
    second_key bigint NOT NULL
);

-- As in the source, with three differences: a uuid stands beside its spelling where
-- that is not the usual one, times are no longer naive, and ids that may be dangling
-- refer to nothing.
CREATE UNLOGGED TABLE legacy_resource_classes (
    id bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    created_at timestamptz,
    updated_at timestamptz,
    -- The class here.
    class_id int
);
CREATE UNLOGGED TABLE legacy_traits (
    id bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    created_at timestamptz,
    updated_at timestamptz,
    -- The trait here.
    trait_id int
);
CREATE UNLOGGED TABLE legacy_aggregates (
    id bigint PRIMARY KEY,
    uuid uuid,
    spelled text COLLATE "C",
    created_at timestamptz
);
CREATE UNLOGGED TABLE legacy_projects (
    id bigint PRIMARY KEY,
    external_id text COLLATE "C" NOT NULL,
    created_at timestamptz
);
CREATE UNLOGGED TABLE legacy_users (
    id bigint PRIMARY KEY,
    external_id text COLLATE "C" NOT NULL,
    created_at timestamptz
);
CREATE UNLOGGED TABLE legacy_consumer_types (
    id bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    created_at timestamptz
);
CREATE UNLOGGED TABLE legacy_resource_providers (
    id bigint PRIMARY KEY,
    uuid uuid NOT NULL,
    spelled text COLLATE "C",
    name text,
    generation bigint,
    root_provider_id bigint,
    parent_provider_id bigint,
    created_at timestamptz,
    updated_at timestamptz,
    -- The parent as it will be, and the topmost ancestor by that.
    parent_id bigint,
    root_id bigint
);
CREATE INDEX legacy_resource_providers_parent_id_idx ON legacy_resource_providers (parent_id);
CREATE UNLOGGED TABLE legacy_provider_traits (
    resource_provider_id bigint NOT NULL,
    trait_id bigint NOT NULL,
    PRIMARY KEY (resource_provider_id, trait_id)
);
CREATE UNLOGGED TABLE legacy_provider_aggregates (
    resource_provider_id bigint NOT NULL,
    aggregate_id bigint NOT NULL,
    PRIMARY KEY (resource_provider_id, aggregate_id)
);
CREATE UNLOGGED TABLE legacy_inventories (
    id bigint PRIMARY KEY,
    resource_provider_id bigint NOT NULL,
    resource_class_id bigint NOT NULL,
    total bigint NOT NULL,
    reserved bigint NOT NULL,
    min_unit bigint NOT NULL,
    max_unit bigint NOT NULL,
    step_size bigint NOT NULL,
    allocation_ratio float8 NOT NULL,
    created_at timestamptz,
    updated_at timestamptz
);
CREATE INDEX legacy_inventories_key_idx ON legacy_inventories (resource_provider_id, resource_class_id);
CREATE UNLOGGED TABLE legacy_consumers (
    id bigint PRIMARY KEY,
    uuid uuid NOT NULL,
    spelled text COLLATE "C",
    project_id bigint NOT NULL,
    user_id bigint NOT NULL,
    generation bigint NOT NULL,
    consumer_type_id bigint,
    created_at timestamptz,
    updated_at timestamptz
);
CREATE INDEX legacy_consumers_uuid_idx ON legacy_consumers (uuid, id);
CREATE UNLOGGED TABLE legacy_allocations (
    id bigint PRIMARY KEY,
    resource_provider_id bigint NOT NULL,
    consumer_uuid uuid NOT NULL,
    spelled text COLLATE "C",
    resource_class_id bigint NOT NULL,
    used bigint NOT NULL,
    created_at timestamptz,
    updated_at timestamptz
);
CREATE INDEX legacy_allocations_consumer_uuid_idx ON legacy_allocations (consumer_uuid);
