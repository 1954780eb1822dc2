-- Consumers with their projects, users and types, and their allocations.
-- New tables: waits for no lock and needs no preparation.

-- +goose Up

-- Projects (Keystone) that own consumers. Inserted on first use, never deleted.
CREATE TABLE projects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    external_id text COLLATE "C" NOT NULL, -- Id of the project in the API.
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of first use.
    CONSTRAINT projects_external_id_key UNIQUE (external_id)
);

-- Users (Keystone) that own consumers. Inserted on first use, never deleted.
CREATE TABLE users (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    external_id text COLLATE "C" NOT NULL, -- Id of the user in the API.
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of first use.
    CONSTRAINT users_external_id_key UNIQUE (external_id)
);

-- Types of consumers, such as INSTANCE and MIGRATION. Inserted on first use, never deleted.
CREATE TABLE consumer_types (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    name text COLLATE "C" NOT NULL, -- Name in the API.
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of first use.
    CONSTRAINT consumer_types_name_key UNIQUE (name)
);

-- Consumers: instances, migrations and other holders of allocations. A row exists exactly as long as the
-- consumer has allocations.
CREATE TABLE consumers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    uuid uuid NOT NULL, -- Key in the API; often the UUID of an instance.
    generation bigint NOT NULL, -- Consumer generation, from 1; a claim with a stale value yields 409.
    project_id bigint NOT NULL, -- Project that owns the consumer.
    user_id bigint NOT NULL, -- User that owns the consumer.
    consumer_type_id int, -- Type of the consumer; the API reports null as "unknown".
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of the first claim.
    updated_at timestamptz, -- Time of the last claim after the first.
    CONSTRAINT consumers_uuid_key UNIQUE (uuid),
    CONSTRAINT consumers_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id),
    CONSTRAINT consumers_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id),
    CONSTRAINT consumers_consumer_type_id_fkey FOREIGN KEY (consumer_type_id) REFERENCES consumer_types (id)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);
-- Consumers of a project, and of a user in it.
CREATE INDEX consumers_project_id_idx ON consumers (project_id, user_id);

-- Allocations: the amount of one resource class that a consumer holds on one provider. inventories.used holds
-- the sums.
CREATE TABLE allocations (
    consumer_id bigint NOT NULL, -- Consumer that holds the allocation.
    provider_id bigint NOT NULL, -- Provider of the resource.
    class_id int NOT NULL, -- Resource class.
    id bigint GENERATED ALWAYS AS IDENTITY, -- Order of insertion, which is the order in the request.
    used bigint NOT NULL, -- Amount, at least 1.
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of the claim.
    PRIMARY KEY (consumer_id, provider_id, class_id),
    CONSTRAINT allocations_consumer_id_fkey FOREIGN KEY (consumer_id) REFERENCES consumers (id),
    -- An allocation needs an inventory, also if a function has a defect in its locks or checks.
    CONSTRAINT allocations_inventory_fkey FOREIGN KEY (provider_id, class_id)
        REFERENCES inventories (provider_id, class_id),
    CONSTRAINT allocations_used_check CHECK (used >= 1)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
-- Allocations of a provider; also serves the foreign key to inventories.
CREATE INDEX allocations_provider_id_idx ON allocations (provider_id, class_id);
