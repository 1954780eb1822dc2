-- Recorded queries for allocation candidates that found nothing, and their explanations.
-- New tables: waits for no lock and needs no preparation.

-- +goose Up

-- Empty results that clients received, and explanations of them: a row for equal queries in five minutes.
-- Unlogged: no WAL, and nothing on standbys; empty after a crash and after a failover. Nothing depends on it.
CREATE UNLOGGED TABLE explanations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Internal key.
    digest bytea NOT NULL, -- SHA-256 of kind, api, microversion, berth, question and options.
    window_start timestamptz NOT NULL, -- Start of the five minutes, a multiple of five minutes.
    kind text COLLATE "C" NOT NULL, -- Kind of the explanation: candidates or claim.
    api text COLLATE "C" NOT NULL, -- API of the requests: placement.
    microversion text COLLATE "C" NOT NULL, -- Microversion of the requests.
    berth text COLLATE "C", -- Version of the extensions; null without one.
    question text NOT NULL, -- Query string of the requests; of a claim its JSON.
    options jsonb NOT NULL, -- Settings of the server that took part in the search.
    reason text COLLATE "C" NOT NULL, -- Reason that the search reported, the label of the metric.
    requests bigint NOT NULL, -- Number of recorded requests.
    first_asked_at timestamptz NOT NULL, -- Time of the first of them.
    last_asked_at timestamptz NOT NULL, -- Time of the last of them.
    content jsonb, -- The explanation; null until it is computed.
    made_at timestamptz, -- Time at which the explanation was computed; null until then.
    CONSTRAINT explanations_digest_window_start_key UNIQUE (digest, window_start)
);
-- The oldest rows, which are deleted first.
CREATE INDEX explanations_last_asked_at_idx ON explanations (last_asked_at);

-- The requests with an empty result. A row without its explanation is ignored. Unlogged, like explanations.
CREATE UNLOGGED TABLE explanation_requests (
    request_id uuid PRIMARY KEY, -- Id of the request, without its "req-".
    global_request_id uuid, -- Id that the client sent for a chain of requests, likewise; null without one.
    explanation_id bigint NOT NULL, -- Row of explanations.
    asked_at timestamptz NOT NULL -- Time of the request.
);
-- The requests with a global request id.
CREATE INDEX explanation_requests_global_request_id_idx ON explanation_requests (global_request_id)
    WHERE global_request_id IS NOT NULL;
-- The oldest rows, which are deleted first.
CREATE INDEX explanation_requests_asked_at_idx ON explanation_requests (asked_at);
