-- Records requests with an empty result: adds their queries, or counts them in the rows of equal queries
-- in the same five minutes, and adds their request ids. Returns the row of each query by its place in
-- the argument; is_new: this statement inserted it, and it has no explanation.
-- Called by Store.ExplanationRecord, once a second by a server that has something to record. Locks the
-- rows of the queries, in the order of their digests, so that two servers do not deadlock.
-- Plan: explanations_digest_window_start_key and explanation_requests_pkey for each element.
-- name: ExplanationRecord :many
WITH asked AS MATERIALIZED (
    SELECT (query.value ->> 'place')::int AS place, decode(query.value ->> 'digest', 'hex') AS digest,
        (query.value ->> 'window_start')::timestamptz AS window_start, query.value ->> 'kind' AS kind,
        query.value ->> 'api' AS api, query.value ->> 'microversion' AS microversion, query.value ->> 'berth' AS berth,
        query.value ->> 'question' AS question, query.value -> 'options' AS options, query.value ->> 'reason' AS reason,
        (query.value ->> 'requests')::bigint AS requests, (query.value ->> 'first_asked_at')::timestamptz AS first_asked_at,
        (query.value ->> 'last_asked_at')::timestamptz AS last_asked_at, query.value -> 'content' AS content,
        (query.value ->> 'made_at')::timestamptz AS made_at
    FROM jsonb_array_elements(@queries::jsonb) AS query (value)
), written AS (
    INSERT INTO explanations AS known (digest, window_start, kind, api, microversion, berth, question, options, reason,
        requests, first_asked_at, last_asked_at, content, made_at)
    SELECT asked.digest, asked.window_start, asked.kind, asked.api, asked.microversion, asked.berth, asked.question,
        asked.options, asked.reason, asked.requests, asked.first_asked_at, asked.last_asked_at, asked.content, asked.made_at
    FROM asked
    ORDER BY asked.digest, asked.window_start
    ON CONFLICT (digest, window_start) DO UPDATE SET
        requests = known.requests + excluded.requests,
        first_asked_at = least(known.first_asked_at, excluded.first_asked_at),
        last_asked_at = greatest(known.last_asked_at, excluded.last_asked_at),
        content = COALESCE(known.content, excluded.content),
        made_at = COALESCE(known.made_at, excluded.made_at)
    RETURNING known.id, known.digest, known.window_start, known.requests, known.content
), stored AS MATERIALIZED (
    -- An updated row has counted more requests than this statement adds.
    SELECT asked.place, written.id, written.requests = asked.requests AND written.content IS NULL AS is_new
    FROM asked JOIN written ON written.digest = asked.digest AND written.window_start = asked.window_start
), recorded AS (
    INSERT INTO explanation_requests (request_id, global_request_id, explanation_id, asked_at)
    SELECT (request.value ->> 'request_id')::uuid, (request.value ->> 'global_request_id')::uuid, stored.id,
        (request.value ->> 'asked_at')::timestamptz
    FROM jsonb_array_elements(@requests::jsonb) AS request (value)
    JOIN stored ON stored.place = (request.value ->> 'place')::int
    ON CONFLICT DO NOTHING
)
SELECT stored.place::int AS place, stored.id::bigint AS id, stored.is_new::bool AS is_new FROM stored ORDER BY stored.place;

-- Stores the explanation of a row that has none. The digest is compared because ids restart at 1
-- after a crash of PostgreSQL.
-- Called by Store.ExplanationSetContent. Locks the row.
-- Plan: explanations_pkey, or explanations_digest_window_start_key.
-- name: ExplanationSetContent :exec
UPDATE explanations SET content = @content::jsonb, made_at = @made_at::timestamptz
WHERE id = @id::bigint AND digest = @digest::bytea AND content IS NULL;

-- Returns the requests with a request id, or else those with it as their global request id: at most
-- 100, the oldest first, with their explanations.
-- Called by Store.ExplanationShow, on the primary: a standby has no unlogged tables. Locks nothing.
-- Plan: explanation_requests_pkey, explanation_requests_global_request_id_idx, then explanations_pkey
-- for each request.
-- name: ExplanationShow :many
SELECT request.request_id, request.global_request_id, request.asked_at, explanation.id, explanation.digest,
    explanation.kind, explanation.api, explanation.microversion, explanation.berth, explanation.question,
    explanation.options, explanation.reason, explanation.requests, explanation.first_asked_at,
    explanation.last_asked_at, explanation.content, explanation.made_at
FROM (
    SELECT own.request_id, own.global_request_id, own.explanation_id, own.asked_at
    FROM explanation_requests AS own WHERE own.request_id = @request_id::uuid
    UNION ALL (
        SELECT chained.request_id, chained.global_request_id, chained.explanation_id, chained.asked_at
        FROM explanation_requests AS chained
        WHERE chained.global_request_id = @request_id::uuid
          AND NOT EXISTS (SELECT FROM explanation_requests AS own WHERE own.request_id = @request_id::uuid)
        ORDER BY chained.asked_at, chained.request_id
        LIMIT 100)
) AS request
JOIN explanations AS explanation ON explanation.id = request.explanation_id
ORDER BY request.asked_at, request.request_id;

-- Returns a page of explanations, newest or most frequent first, with the three newest request ids of
-- each. The page begins after the row with the last values, if there are any.
-- Called by Store.ExplanationList, on the primary. Locks nothing.
-- Plan: scans of explanations and explanation_requests; --explain-rows bounds both.
-- name: ExplanationList :many
WITH page AS MATERIALIZED (
    SELECT one.id, one.kind, one.api, one.microversion, one.reason, one.content ->> 'summary' AS summary, one.question,
        one.requests, one.first_asked_at, one.last_asked_at
    FROM explanations AS one
    WHERE (sqlc.narg('kind')::text IS NULL OR one.kind = sqlc.narg('kind')::text)
      AND (sqlc.narg('reason')::text IS NULL OR one.reason = sqlc.narg('reason')::text)
      AND (sqlc.narg('since')::timestamptz IS NULL OR one.last_asked_at >= sqlc.narg('since')::timestamptz)
      AND (sqlc.narg('last_id')::bigint IS NULL OR CASE WHEN @by_requests::bool
          THEN (one.requests, one.id) < (sqlc.narg('last_requests')::bigint, sqlc.narg('last_id')::bigint)
          ELSE (one.last_asked_at, one.id) < (sqlc.narg('last_time')::timestamptz, sqlc.narg('last_id')::bigint) END)
    ORDER BY CASE WHEN @by_requests::bool THEN one.requests ELSE 0 END DESC,
        CASE WHEN @by_requests::bool THEN NULL ELSE one.last_asked_at END DESC, one.id DESC
    LIMIT @max_rows::int
), newest AS (
    SELECT numbered.explanation_id, array_agg(numbered.request_id ORDER BY numbered.place) AS request_ids
    FROM (
        SELECT request.explanation_id, request.request_id,
            row_number() OVER (PARTITION BY request.explanation_id ORDER BY request.asked_at DESC, request.request_id) AS place
        FROM explanation_requests AS request
        WHERE request.explanation_id = ANY (ARRAY (SELECT page.id FROM page))
          AND request.asked_at >= (SELECT min(page.first_asked_at) FROM page)
    ) AS numbered
    WHERE numbered.place <= 3
    GROUP BY numbered.explanation_id
)
SELECT page.id, page.kind, page.api, page.microversion, page.reason, COALESCE(page.summary, '')::text AS summary, page.question,
    page.requests, page.first_asked_at, page.last_asked_at, COALESCE(newest.request_ids, '{}')::uuid[] AS request_ids
FROM page LEFT JOIN newest ON newest.explanation_id = page.id
ORDER BY CASE WHEN @by_requests::bool THEN page.requests ELSE 0 END DESC,
    CASE WHEN @by_requests::bool THEN NULL ELSE page.last_asked_at END DESC, page.id DESC;

-- Deletes at most max_rows request ids, the oldest first: those older than keep seconds, and those
-- beyond the newest kept_rows. Returns their number, or deletes nothing and returns -1 if another server
-- cleans at that moment.
-- Called by Store.ExplanationClean, once a minute. Locks the deleted rows, after an advisory lock that
-- it does not wait for.
-- Plan: counts in explanation_requests_asked_at_idx, then a range of it.
-- name: ExplanationRequestClean :one
WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended('berth explanations', 0)) AS is_mine
), excess AS MATERIALIZED (
    SELECT greatest(
        (SELECT count(*) FROM explanation_requests) - @kept_rows::bigint,
        (SELECT count(*) FROM explanation_requests AS one WHERE one.asked_at < now() - make_interval(secs => @keep::float8))
    ) AS number
), deleted AS (
    DELETE FROM explanation_requests AS request
    WHERE (SELECT turn.is_mine FROM turn)
      AND request.request_id = ANY (ARRAY (
        SELECT one.request_id FROM explanation_requests AS one ORDER BY one.asked_at
        LIMIT (SELECT greatest(0, least(@max_rows::bigint, excess.number)) FROM excess)))
    RETURNING request.request_id
)
SELECT CASE WHEN (SELECT turn.is_mine FROM turn) THEN (SELECT count(*) FROM deleted) ELSE -1 END::bigint AS deleted;

-- Deletes at most max_rows explanations, the oldest first: those not requested for keep seconds, and
-- those beyond the newest kept_rows of their kind. Skips rows that a server counts requests in at that
-- moment: a wait for them could be a deadlock with ExplanationRecord. Returns as ExplanationRequestClean.
-- Called by Store.ExplanationClean, once a minute. Locks as ExplanationRequestClean.
-- Plan: a scan of explanations (a tenth of --explain-rows for each kind).
-- name: ExplanationClean :one
WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended('berth explanations', 0)) AS is_mine
), numbered AS MATERIALIZED (
    SELECT one.id, one.last_asked_at,
        row_number() OVER (PARTITION BY one.kind ORDER BY one.last_asked_at DESC, one.id DESC) AS place
    FROM explanations AS one
), deleted AS (
    DELETE FROM explanations AS explanation
    WHERE (SELECT turn.is_mine FROM turn)
      AND explanation.id = ANY (ARRAY (
        SELECT one.id FROM explanations AS one
        WHERE (SELECT turn.is_mine FROM turn) AND one.id = ANY (ARRAY (
            SELECT numbered.id FROM numbered
            WHERE numbered.place > @kept_rows::bigint OR numbered.last_asked_at < now() - make_interval(secs => @keep::float8)
            ORDER BY numbered.last_asked_at
            LIMIT @max_rows::bigint))
        FOR UPDATE SKIP LOCKED))
    RETURNING explanation.id
)
SELECT CASE WHEN (SELECT turn.is_mine FROM turn) THEN (SELECT count(*) FROM deleted) ELSE -1 END::bigint AS deleted;
