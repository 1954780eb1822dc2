-- Bare metal nodes, who asks for one, and the processes that decide.

-- +goose Up
CREATE TABLE conductors (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hostname text COLLATE "C" NOT NULL,
    conductor_group text COLLATE "C" NOT NULL DEFAULT '',
    drivers text[] NOT NULL,
    online bool NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The last sign of life.
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT conductors_hostname_key UNIQUE (hostname)
) WITH (fillfactor = 50);
COMMENT ON TABLE conductors IS 'Processes that decide allocations and drive nodes. One that is offline, or silent for too long, is dead: others take over what it had.';

-- Whether nodes are providers too. One row, the same for all processes.
CREATE TABLE baremetal_backend (
    only_row bool PRIMARY KEY DEFAULT true,
    placement bool NOT NULL DEFAULT false,
    CONSTRAINT baremetal_backend_only_row_check CHECK (only_row)
);
INSERT INTO baremetal_backend DEFAULT VALUES;
COMMENT ON TABLE baremetal_backend IS 'Whether each bare metal node is a resource provider as well, written in the same transactions.';

CREATE TABLE nodes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid uuid NOT NULL,
    name text COLLATE "C",
    driver text COLLATE "C" NOT NULL,
    resource_class text COLLATE "C",
    -- Null is "available" as clients below 1.2 see it; here it is always the state's name.
    provision_state text COLLATE "C" NOT NULL,
    target_provision_state text COLLATE "C",
    provision_updated_at timestamptz,
    power_state text COLLATE "C",
    target_power_state text COLLATE "C",
    maintenance bool NOT NULL DEFAULT false,
    maintenance_reason text,
    fault text,
    instance_uuid uuid,
    owner text COLLATE "C",
    lessee text COLLATE "C",
    protected bool NOT NULL DEFAULT false,
    retired bool NOT NULL DEFAULT false,
    conductor_group text COLLATE "C" NOT NULL DEFAULT '',
    last_error text,
    -- The conductor that works on it now; null at rest.
    conductor_id int,
    -- Rises with every change: a reader who writes back says which one was read.
    revision bigint NOT NULL DEFAULT 0,
    -- All that no rule looks at, by its name on the wire: properties, driver_info,
    -- extra, the interfaces, …
    details jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz,
    CONSTRAINT nodes_uuid_key UNIQUE (uuid),
    CONSTRAINT nodes_name_key UNIQUE (name),
    CONSTRAINT nodes_instance_uuid_key UNIQUE (instance_uuid),
    CONSTRAINT nodes_conductor_id_fkey FOREIGN KEY (conductor_id) REFERENCES conductors (id)
) WITH (fillfactor = 80);
-- Who can be given away, of a class, provided that its power state is known. That is
-- not in the condition, so that the index also serves those who list such nodes.
-- The last column lets a worker begin anywhere.
CREATE INDEX nodes_free_idx ON nodes (resource_class, id)
    WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT maintenance;
CREATE INDEX nodes_conductor_id_idx ON nodes (conductor_id) WHERE conductor_id IS NOT NULL;
-- Who may need a conductor that does not know of it yet.
CREATE INDEX nodes_work_idx ON nodes (id)
    WHERE conductor_id IS NULL AND (target_provision_state IS NOT NULL OR target_power_state IS NOT NULL);
COMMENT ON TABLE nodes IS 'Bare metal machines, as the Bare Metal API knows them.';

CREATE TABLE node_traits (
    node_id bigint NOT NULL,
    trait text COLLATE "C" NOT NULL,
    PRIMARY KEY (node_id, trait),
    CONSTRAINT node_traits_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes (id) ON DELETE CASCADE
);
-- Who has a trait, where few do.
CREATE INDEX node_traits_trait_idx ON node_traits (trait, node_id);
COMMENT ON TABLE node_traits IS 'Traits of nodes by name; standard ones or CUSTOM_….';

CREATE TABLE ports (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid uuid NOT NULL,
    node_id bigint NOT NULL,
    -- Lower case, with colons.
    address text COLLATE "C" NOT NULL,
    -- As of nodes.
    revision bigint NOT NULL DEFAULT 0,
    details jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz,
    CONSTRAINT ports_uuid_key UNIQUE (uuid),
    CONSTRAINT ports_address_key UNIQUE (address),
    CONSTRAINT ports_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes (id) ON DELETE CASCADE
);
CREATE INDEX ports_node_id_idx ON ports (node_id);
COMMENT ON TABLE ports IS 'Network cards of nodes.';

CREATE TABLE node_allocations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid uuid NOT NULL,
    name text COLLATE "C",
    node_id bigint,
    state text COLLATE "C" NOT NULL DEFAULT 'allocating',
    resource_class text COLLATE "C" NOT NULL,
    traits text[] NOT NULL DEFAULT '{}',
    candidate_nodes uuid[] NOT NULL DEFAULT '{}',
    extra jsonb NOT NULL DEFAULT '{}',
    owner text COLLATE "C",
    last_error text,
    -- Made by a client that asked for more than ironic has: its error is told with
    -- numbers, and who waits for the decision hears of it.
    extended bool NOT NULL DEFAULT false,
    -- The node keeps it when it is torn down.
    sticky bool NOT NULL DEFAULT false,
    -- Those of one batch are decided together: at least so many of them get a node,
    -- or none does.
    batch_uuid uuid,
    batch_minimum int,
    -- Whose task it is to decide; null once decided.
    conductor_id int,
    -- As of nodes.
    revision bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz,
    CONSTRAINT node_allocations_uuid_key UNIQUE (uuid),
    CONSTRAINT node_allocations_name_key UNIQUE (name),
    CONSTRAINT node_allocations_node_id_key UNIQUE (node_id),
    CONSTRAINT node_allocations_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes (id),
    CONSTRAINT node_allocations_conductor_id_fkey FOREIGN KEY (conductor_id) REFERENCES conductors (id),
    CONSTRAINT node_allocations_state_check CHECK (state IN ('allocating', 'active', 'error')),
    CONSTRAINT node_allocations_node_check CHECK ((state = 'active') = (node_id IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX node_allocations_allocating_idx ON node_allocations (conductor_id, id) WHERE state = 'allocating';
COMMENT ON TABLE node_allocations IS 'Requests for a bare metal node and what became of them: the allocations of the Bare Metal API.';
