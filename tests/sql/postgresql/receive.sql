-- statement: insert_arrived
-- Add messages as they were, with given ids; return the ids of those whose key was free.
INSERT INTO duerow_message (id, queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, last_attempt_at, last_error) SELECT given.id, given.queue, given.key, given.kind,
    given.payload, given.headers, given."group", given.priority, given.status, given.due_at, given.first_due_at,
    given.attempts, given.token, given.created_at, given.last_attempt_at, CAST(given.last_error AS JSON) AS last_error
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[]), CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[]),
    CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]),
    CAST(CAST(:given_status::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_due_at::VARCHAR AS TEXT) AS TIMESTAMP WITH
    TIME ZONE[]), CAST(CAST(:given_first_due_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[]),
    CAST(CAST(:given_attempts::VARCHAR AS TEXT) AS INTEGER[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_created_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[]),
    CAST(CAST(:given_last_attempt_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[]),
    CAST(CAST(:given_last_error::VARCHAR AS TEXT) AS TEXT[])) AS given(id, queue, key, kind, payload, headers,
    "group", priority, status, due_at, first_due_at, attempts, token, created_at, last_attempt_at, last_error)
WHERE 1 = 1
ORDER BY given.queue, given.key, given.id
ON CONFLICT (queue, key)
WHERE key IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING duerow_message.id

-- statement: insert_turns
-- Add finished turns as they were.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, outcome, moved_to,
    attempts, created_at, first_due_at, due_at, started_at, finished_at, worker, error, until) SELECT given.id,
    given.token, given.queue, given.key, given.kind, given.payload, given.headers, given."group", given.priority,
    given.outcome, given.moved_to, given.attempts, given.created_at, given.first_due_at, given.due_at,
    given.started_at, given.finished_at, given.worker, CAST(given.error AS JSON) AS error, given.until
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[]),
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]), CAST(CAST(:given_outcome::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_moved_to::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_attempts::VARCHAR AS TEXT) AS INTEGER[]),
    CAST(CAST(:given_created_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[]),
    CAST(CAST(:given_first_due_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[]), CAST(CAST(:given_due_at::VARCHAR
    AS TEXT) AS TIMESTAMP WITH TIME ZONE[]), CAST(CAST(:given_started_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME
    ZONE[]), CAST(CAST(:given_finished_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[]),
    CAST(CAST(:given_worker::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_until::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS given(id, token, queue, key, kind,
    payload, headers, "group", priority, outcome, moved_to, attempts, created_at, first_due_at, due_at, started_at,
    finished_at, worker, error, until)

-- statement: noted_of
-- Read which of the given names are recorded.
SELECT found.name
FROM unnest(CAST(CAST(:given_name::VARCHAR AS TEXT) AS TEXT[])) AS given(name)
JOIN LATERAL (SELECT duerow_noted.name AS name
FROM duerow_noted
WHERE duerow_noted.name = given.name
LIMIT 1) AS found ON true
