-- The state of an import from OpenStack Placement, and the anomalies that it found. The staging tables of an
-- import are not here: the import creates them in the schema berth_import (sql/import) and drops them.
-- New tables: waits for no lock and needs no preparation.

-- +goose Up

-- The import of an OpenStack Placement database: one row, or none if there was no import.
CREATE TABLE import_state (
    only_row bool PRIMARY KEY DEFAULT true, -- Always true: the table has at most one row.
    source text NOT NULL, -- Address of the source, without its password.
    fingerprint text NOT NULL, -- Hash of the whole source, so that a later run detects changes.
    began_at timestamptz NOT NULL DEFAULT now(), -- Start of the import; also the time of rows that had none.
    finished_at timestamptz, -- End of the import; null if it has not ended.
    -- Hashes of what the import wrote, by table. The import can be repeated as long as they match.
    digests jsonb NOT NULL DEFAULT '{}',
    traits text[] NOT NULL DEFAULT '{}', -- Traits that the import added; a repeated import deletes them.
    resource_classes text[] NOT NULL DEFAULT '{}', -- Resource classes that the import added, likewise.
    CONSTRAINT import_state_only_row_check CHECK (only_row)
);

-- Anomalies that the last import found in its source. Kept until the next import.
CREATE TABLE import_anomalies (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Order in which they were found.
    kind text COLLATE "C" NOT NULL, -- Kind of the anomaly, as in the report.
    source_row jsonb NOT NULL -- Row of the source, or what several rows have in common.
);
-- Anomalies of a kind, in order.
CREATE INDEX import_anomalies_kind_idx ON import_anomalies (kind, id);
