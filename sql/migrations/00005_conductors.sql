-- Conductors of the Bare Metal API, and whether nodes are resource providers.
-- New tables: waits for no lock and needs no preparation.

-- +goose Up

-- Conductors: workers that process node allocations and drive nodes. If one is offline, or its heartbeat is
-- older than the timeout, other conductors take over its work. With fillfactor 50 heartbeats are HOT updates.
CREATE TABLE conductors (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    hostname text COLLATE "C" NOT NULL, -- Name of the conductor, unique among all.
    conductor_group text COLLATE "C" NOT NULL DEFAULT '', -- Group of nodes that the conductor serves.
    drivers text[] NOT NULL, -- Names of the drivers that the conductor has.
    online bool NOT NULL DEFAULT true, -- False after the conductor has unregistered.
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of the first registration.
    updated_at timestamptz NOT NULL DEFAULT now(), -- Time of the last heartbeat.
    CONSTRAINT conductors_hostname_key UNIQUE (hostname)
) WITH (fillfactor = 50);

-- Whether each node is a resource provider as well, written in the same transactions. One row, the same for
-- all servers.
CREATE TABLE baremetal_backend (
    only_row bool PRIMARY KEY DEFAULT true, -- Always true: the table has one row.
    placement bool NOT NULL DEFAULT false, -- Whether nodes are resource providers.
    CONSTRAINT baremetal_backend_only_row_check CHECK (only_row)
);
INSERT INTO baremetal_backend DEFAULT VALUES;
