-- Revisions of providers for POST /claims, and keys of repeated writes.
-- The new column has a constant default: no rewrite, and its lock on resource_providers lasts for one catalog update.

-- +goose Up

-- Incremented by every UPDATE of the row (trigger provider_revise): by changes of its name, parent, root, traits and
-- aggregates, never by a claim. A claim compares it with the revision that its search has read.
ALTER TABLE resource_providers ADD COLUMN revision bigint NOT NULL DEFAULT 0;

-- Writes that a client sent with an Idempotency-Key, and their responses.
CREATE TABLE idempotency_keys (
    caller text COLLATE "C" NOT NULL, -- Authentication method or issuer, user and project, separated by line feeds.
    key text COLLATE "C" NOT NULL, -- Header Idempotency-Key.
    fingerprint bytea NOT NULL, -- SHA-256 of the request.
    request text NOT NULL, -- Method and path, for the error of another request with the same key.
    status int, -- Status of the response; null while the write runs, which no other transaction sees.
    answer jsonb, -- Body of the response; null for a response without a body.
    created_at timestamptz NOT NULL DEFAULT now(), -- Time of the first request.
    expires_at timestamptz NOT NULL, -- Time from which the key is unknown and may be deleted.
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (caller, key)
) WITH (fillfactor = 70); -- The second write of a row stays in its page.
-- The expired keys, which are deleted.
CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);
