-- Bare metal nodes with their traits and ports.
-- New tables: waits for no lock and needs no preparation.

-- +goose Up

-- Nodes: machines managed through the Bare Metal API.
CREATE TABLE nodes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    uuid uuid NOT NULL, -- Key in the API.
    name text COLLATE "C", -- Unique name, if the node has one.
    driver text COLLATE "C" NOT NULL, -- Driver that manages the node.
    resource_class text COLLATE "C", -- Resource class that node allocations request.
    -- Provision state, always by its name. Clients below 1.2 see "available" as null.
    provision_state text COLLATE "C" NOT NULL,
    target_provision_state text COLLATE "C", -- State that a running transition leads to; null without one.
    provision_updated_at timestamptz, -- Time of the last change of provision_state.
    power_state text COLLATE "C", -- Last known power state; null before it was first read.
    target_power_state text COLLATE "C", -- Power state that a running change leads to; null without one.
    maintenance bool NOT NULL DEFAULT false, -- Whether the node is in maintenance.
    maintenance_reason text, -- Reason that the operator gave for the maintenance.
    fault text, -- Fault that put the node into maintenance.
    instance_uuid uuid, -- Instance or node allocation that the node is assigned to.
    owner text COLLATE "C", -- Project that owns the node.
    lessee text COLLATE "C", -- Project that leases the node.
    protected bool NOT NULL DEFAULT false, -- Whether the node must not be undeployed or deleted.
    retired bool NOT NULL DEFAULT false, -- Whether the node must not become available again.
    conductor_group text COLLATE "C" NOT NULL DEFAULT '', -- Group of conductors that may manage the node.
    last_error text, -- Error of the last transition that failed.
    conductor_id int, -- Reservation: the conductor that works on the node; null if none does.
    -- Incremented by every change. An update sends the revision that it read and fails if it is another.
    revision bigint NOT NULL DEFAULT 0,
    -- Members that no rule reads, by their names in the API: properties, driver_info, extra, interfaces.
    details jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of creation.
    updated_at timestamptz, -- Time of the last change; null before the first.
    CONSTRAINT nodes_uuid_key UNIQUE (uuid),
    CONSTRAINT nodes_name_key UNIQUE (name),
    CONSTRAINT nodes_instance_uuid_key UNIQUE (instance_uuid),
    CONSTRAINT nodes_conductor_id_fkey FOREIGN KEY (conductor_id) REFERENCES conductors (id)
) WITH (fillfactor = 80);
-- Nodes of a class that can be assigned, if their power state is known. That is not in the condition, so that
-- the index also serves lists of such nodes. With id as the last column a conductor can begin anywhere.
CREATE INDEX nodes_free_idx ON nodes (resource_class, id)
    WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT maintenance;
-- Nodes that a conductor works on.
CREATE INDEX nodes_conductor_id_idx ON nodes (conductor_id) WHERE conductor_id IS NOT NULL;
-- Nodes with pending work and without a conductor.
CREATE INDEX nodes_work_idx ON nodes (id)
    WHERE conductor_id IS NULL AND (target_provision_state IS NOT NULL OR target_power_state IS NOT NULL);

-- Traits of nodes by name, standard or custom; at most 50 per node.
CREATE TABLE node_traits (
    node_id bigint NOT NULL, -- Node that has the trait.
    trait text COLLATE "C" NOT NULL, -- Name of the trait.
    PRIMARY KEY (node_id, trait),
    CONSTRAINT node_traits_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes (id) ON DELETE CASCADE
);
-- Nodes that have a trait.
CREATE INDEX node_traits_trait_idx ON node_traits (trait, node_id);

-- Ports: network cards of nodes.
CREATE TABLE ports (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    uuid uuid NOT NULL, -- Key in the API.
    node_id bigint NOT NULL, -- Node that has the port.
    address text COLLATE "C" NOT NULL, -- MAC address in lower case, with colons.
    revision bigint NOT NULL DEFAULT 0, -- Incremented by every change, as that of nodes.
    details jsonb NOT NULL DEFAULT '{}', -- Members that no rule reads, by their names in the API.
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of creation.
    updated_at timestamptz, -- Time of the last change; null before the first.
    CONSTRAINT ports_uuid_key UNIQUE (uuid),
    CONSTRAINT ports_address_key UNIQUE (address),
    CONSTRAINT ports_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes (id) ON DELETE CASCADE
);
-- Ports of a node.
CREATE INDEX ports_node_id_idx ON ports (node_id);
