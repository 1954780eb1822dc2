-- Resource providers in trees, with their traits and aggregates.

-- +goose Up
CREATE TABLE resource_providers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid uuid NOT NULL,
    name text NOT NULL,
    -- Topmost ancestor; itself for a root. A copy of what parent_id says, kept
    -- so that a whole tree is one index range. Whoever changes or copies it
    -- holds the lock of the root's row.
    root_id bigint NOT NULL,
    parent_id bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT resource_providers_uuid_key UNIQUE (uuid),
    CONSTRAINT resource_providers_name_key UNIQUE (name),
    CONSTRAINT resource_providers_root_id_fkey FOREIGN KEY (root_id) REFERENCES resource_providers (id),
    CONSTRAINT resource_providers_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES resource_providers (id),
    CONSTRAINT resource_providers_root_check CHECK ((parent_id IS NULL) = (root_id = id))
);
CREATE INDEX resource_providers_root_id_idx ON resource_providers (root_id);
CREATE INDEX resource_providers_parent_id_idx ON resource_providers (parent_id) WHERE parent_id IS NOT NULL;
COMMENT ON TABLE resource_providers IS 'Whatever has inventory: compute nodes, NUMA nodes, network functions, storage pools.';

CREATE TABLE provider_generations (
    provider_id bigint PRIMARY KEY,
    generation bigint NOT NULL DEFAULT 0,
    -- When anything of the provider was last written; null for a child that was
    -- only created.
    updated_at timestamptz,
    CONSTRAINT provider_generations_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES resource_providers (id)
) WITH (fillfactor = 50);
COMMENT ON TABLE provider_generations IS 'One narrow, often updated row a provider. Its row lock is the provider''s lock: whoever writes inventories, allocations, traits or aggregates of the provider holds it.';

CREATE TABLE provider_traits (
    provider_id bigint NOT NULL,
    trait_id int NOT NULL,
    PRIMARY KEY (provider_id, trait_id),
    CONSTRAINT provider_traits_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES resource_providers (id),
    CONSTRAINT provider_traits_trait_id_fkey FOREIGN KEY (trait_id) REFERENCES traits (id)
);
CREATE INDEX provider_traits_trait_id_idx ON provider_traits (trait_id, provider_id);

CREATE TABLE provider_aggregates (
    provider_id bigint NOT NULL,
    aggregate_id int NOT NULL,
    PRIMARY KEY (provider_id, aggregate_id),
    CONSTRAINT provider_aggregates_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES resource_providers (id),
    CONSTRAINT provider_aggregates_aggregate_id_fkey FOREIGN KEY (aggregate_id) REFERENCES aggregates (id)
);
CREATE INDEX provider_aggregates_aggregate_id_idx ON provider_aggregates (aggregate_id, provider_id);
