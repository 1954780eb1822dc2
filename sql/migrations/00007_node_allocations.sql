-- Node allocations of the Bare Metal API.
-- New table: waits for no lock and needs no preparation.

-- +goose Up

-- Node allocations: requests for a node by class and traits, and their results (/v1/allocations).
CREATE TABLE node_allocations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    uuid uuid NOT NULL, -- Key in the API; also the instance_uuid of the node.
    name text COLLATE "C", -- Unique name, if the node allocation has one.
    node_id bigint, -- Assigned node; null unless the state is active.
    state text COLLATE "C" NOT NULL DEFAULT 'allocating', -- State: allocating, active or error.
    resource_class text COLLATE "C" NOT NULL, -- Resource class that the node must have.
    traits text[] NOT NULL DEFAULT '{}', -- Traits that the node must have.
    candidate_nodes uuid[] NOT NULL DEFAULT '{}', -- Nodes to choose from; empty: all.
    extra jsonb NOT NULL DEFAULT '{}', -- Metadata of the client.
    owner text COLLATE "C", -- Project that owns the node allocation.
    last_error text, -- Reason why no node was assigned.
    -- Whether the client used Berth's extensions: its error then contains numbers, and a request that waits
    -- for the result is notified.
    extended bool NOT NULL DEFAULT false,
    sticky bool NOT NULL DEFAULT false, -- Whether the node keeps the node allocation when it is undeployed.
    -- Batch that the node allocation belongs to. A conductor processes a batch as one: at least batch_minimum
    -- of its node allocations get a node, or none does.
    batch_uuid uuid,
    batch_minimum int, -- Minimum of node allocations in the batch that must get a node.
    conductor_id int, -- Conductor that processes it; null once the result is known.
    revision bigint NOT NULL DEFAULT 0, -- Incremented by every change, as that of nodes.
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of creation.
    updated_at timestamptz, -- Time of the last change; null before the first.
    CONSTRAINT node_allocations_uuid_key UNIQUE (uuid),
    CONSTRAINT node_allocations_name_key UNIQUE (name),
    CONSTRAINT node_allocations_node_id_key UNIQUE (node_id),
    CONSTRAINT node_allocations_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes (id),
    CONSTRAINT node_allocations_conductor_id_fkey FOREIGN KEY (conductor_id) REFERENCES conductors (id),
    CONSTRAINT node_allocations_state_check CHECK (state IN ('allocating', 'active', 'error')),
    CONSTRAINT node_allocations_node_check CHECK ((state = 'active') = (node_id IS NOT NULL))
) WITH (fillfactor = 80);
-- Pending node allocations of a conductor.
CREATE INDEX node_allocations_allocating_idx ON node_allocations (conductor_id, id) WHERE state = 'allocating';
