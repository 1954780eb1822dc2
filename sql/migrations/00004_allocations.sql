-- Who uses how much of what.

-- +goose Up
CREATE TABLE projects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    external_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT projects_external_id_key UNIQUE (external_id)
);
CREATE TABLE users (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    external_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT users_external_id_key UNIQUE (external_id)
);
CREATE TABLE consumer_types (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT consumer_types_name_key UNIQUE (name)
);
COMMENT ON TABLE projects IS 'Identity service projects that own consumers. Made on first use, never deleted.';
COMMENT ON TABLE users IS 'Identity service users that own consumers. Made on first use, never deleted.';
COMMENT ON TABLE consumer_types IS 'INSTANCE, MIGRATION and the like. A consumer without one is reported as unknown.';

CREATE TABLE consumers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid uuid NOT NULL,
    generation bigint NOT NULL,
    project_id bigint NOT NULL,
    user_id bigint NOT NULL,
    consumer_type_id int,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz,
    CONSTRAINT consumers_uuid_key UNIQUE (uuid),
    CONSTRAINT consumers_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id),
    CONSTRAINT consumers_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id),
    CONSTRAINT consumers_consumer_type_id_fkey FOREIGN KEY (consumer_type_id) REFERENCES consumer_types (id)
) WITH (fillfactor = 90);
CREATE INDEX consumers_project_id_idx ON consumers (project_id, user_id);
COMMENT ON TABLE consumers IS 'Whatever uses resources: instances, migrations. A row exists exactly as long as it has allocations.';

CREATE TABLE allocations (
    consumer_id bigint NOT NULL,
    provider_id bigint NOT NULL,
    class_id int NOT NULL,
    -- Order of insertion, which is the order in the request.
    id bigint GENERATED ALWAYS AS IDENTITY,
    used bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer_id, provider_id, class_id),
    CONSTRAINT allocations_consumer_id_fkey FOREIGN KEY (consumer_id) REFERENCES consumers (id),
    -- No allocation without an inventory: the last line of defence below the
    -- locks and checks of the functions.
    CONSTRAINT allocations_inventory_fkey FOREIGN KEY (provider_id, class_id) REFERENCES inventories (provider_id, class_id),
    CONSTRAINT allocations_used_check CHECK (used >= 1)
);
CREATE INDEX allocations_provider_id_idx ON allocations (provider_id, class_id);
COMMENT ON TABLE allocations IS 'How much of a provider''s class a consumer uses. One row each; inventories.used holds the sums.';
