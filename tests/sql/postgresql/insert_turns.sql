-- Keep turns that are over as they were.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, outcome, moved_to,
    attempts, created_at, first_due_at, due_at, started_at, finished_at, worker, error, until) SELECT given.id,
    given.token, given.queue, given.key, given.kind, CAST(given.payload AS JSON) AS payload, CAST(given.headers AS
    JSON) AS headers, given."group", given.priority, given.outcome, given.moved_to, given.attempts, given.created_at,
    given.first_due_at, given.due_at, given.started_at, given.finished_at, given.worker, CAST(given.error AS JSON) AS
    error, given.until
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]),
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
