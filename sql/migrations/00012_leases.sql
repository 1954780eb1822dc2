-- Leases of consumers.
-- The new column has a constant default: no rewrite, and its lock on consumers lasts for one catalog update.

-- +goose Up

-- Tells each write of a consumer, which locks its row, whether there is a row in leases: without one, nothing reads that table.
ALTER TABLE consumers ADD COLUMN leased bool NOT NULL DEFAULT false;

-- Leases of consumers: a consumer is removed with its allocations at expires_at. The row is deleted with the consumer
-- (trigger consumers_drop_lease). A foreign key would look here at each deletion of a consumer.
CREATE TABLE leases (
    consumer_id bigint NOT NULL, -- Consumer that has the lease.
    seconds int, -- Time from a write or renewal to expires_at; null: the lease cannot be renewed.
    until timestamptz, -- Time that expires_at never passes; null: none.
    expires_at timestamptz NOT NULL, -- Time from which the consumer is removed. Changes with each renewal, so no index has it.
    due timestamptz NOT NULL, -- Time at which a server looks at expires_at, at most expires_at. Most renewals leave it.
    CONSTRAINT leases_pkey PRIMARY KEY (consumer_id),
    CONSTRAINT leases_seconds_check CHECK (seconds BETWEEN 1 AND 31536000),
    CONSTRAINT leases_end_check CHECK (seconds IS NOT NULL OR until IS NOT NULL),
    CONSTRAINT leases_expires_at_check CHECK (due <= expires_at AND (until IS NULL OR expires_at <= until))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02); -- A renewed row stays in its page.
-- The leases that a server looks at next.
CREATE INDEX leases_due_idx ON leases (due);
