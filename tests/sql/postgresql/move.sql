-- Send rows whose token matches to another queue; return their receipts.
UPDATE duerow_message
SET queue=given.queue, key=given.key, kind=coalesce(given.kind, duerow_message.kind),
    payload=coalesce(CAST(given.payload AS JSON), duerow_message.payload), headers=CAST(given.headers AS JSON),
    "group"=given."group", priority=given.priority, status='new', due_at=coalesce(given.due, statement_timestamp() +
    (given.delay * INTERVAL '1 microsecond'), statement_timestamp()), first_due_at=coalesce(given.due,
    statement_timestamp() + (given.delay * INTERVAL '1 microsecond'), statement_timestamp()), attempts=0,
    token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]), CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP
    WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS given(id, token, queue, key, kind,
    payload, headers, "group", priority, due, delay)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1
