-- What a streaming replica must have before anything is read from it.

-- +goose Up
CREATE TABLE timelines (
    -- As in the name of a WAL file: eight hexadecimal digits.
    timeline text COLLATE "C" PRIMARY KEY,
    noticed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE timelines IS 'Timelines on which a primary has served requests that could be read from replicas. Positions in the WAL can be compared only within one: a replica that lacks the row of the present primary''s has not followed it.';

