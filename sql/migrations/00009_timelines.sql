-- Timelines of the WAL, for reads from streaming replicas.
-- New table: waits for no lock and needs no preparation.

-- +goose Up

-- Timelines on which a primary has served requests that replicas could read for. WAL positions are comparable
-- only within one timeline: a replica without the row of the primary's timeline has not followed it.
CREATE TABLE timelines (
    timeline text COLLATE "C" PRIMARY KEY, -- Eight hexadecimal digits, as in the name of a WAL file.
    recorded_at timestamptz NOT NULL DEFAULT now() -- Time at which a server recorded the timeline.
);
