-- Keep turns of messages that become parts of sets: with headers of their own.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message.key, coalesce(given.kind, duerow_message.kind) AS
    coalesce_1, coalesce(CAST(given.payload AS JSON), duerow_message.payload) AS coalesce_2, CAST(given.headers AS
    JSON) AS headers, duerow_message."group", duerow_message.priority, duerow_message.attempts,
    duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_3, given.moved_to, coalesce(duerow_message.last_attempt_at,
    statement_timestamp()) AS coalesce_4, statement_timestamp() AS statement_timestamp_1, duerow_message.leased_by,
    CAST(given.error AS JSON) AS error, given.outcome, statement_timestamp() + (:history::BIGINT * INTERVAL '1
    microsecond') AS anon_1
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_outcome::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_moved_to::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_headers::VARCHAR AS TEXT) AS TEXT[])) AS
    given(id, token, outcome, moved_to, kind, payload, error, headers)
JOIN duerow_message ON duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
FOR UPDATE OF duerow_message
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until
