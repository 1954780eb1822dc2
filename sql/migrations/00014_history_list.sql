-- What lists of the record need: times for indexes, and previous names.
-- A new table, and an index on few rows of history.

-- +goose Up

-- Times of indexes: a row for each minute or 5,000 events, in which something was recorded.
CREATE TABLE history_marks (
    first bigint PRIMARY KEY, -- First index of the step that wrote the row.
    at timestamptz NOT NULL, -- Beginning of that step: lower indexes have earlier times.
    earliest timestamptz NOT NULL -- Earliest time of the events from first to the next mark.
);
-- Index for a time.
CREATE INDEX history_marks_at_idx ON history_marks (at);

-- Changes by the name before.
CREATE INDEX history_previous_name_idx ON history (previous_name) WHERE previous_name IS NOT NULL;
