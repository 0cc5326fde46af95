-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
UPDATE duerow_message
SET status='dead', due_at=NULL, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL,
    last_error=coalesce(CAST(given.error AS JSON), duerow_message.last_error)
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS given(id, token, error)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1

-- statement: commit
-- Delete the rows whose token matches; return their receipts.
DELETE
FROM duerow_message
USING unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS
    BIGINT[])) AS given(id, token)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token

-- statement: extend
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
UPDATE duerow_message
SET due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')), leased_until=(statement_timestamp()
    + (:lease::BIGINT * INTERVAL '1 microsecond'))
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token, duerow_message.leased_until

-- statement: move
-- Send rows whose token matches to another queue; return their receipts.
UPDATE duerow_message
SET queue=given.queue, key=given.key, kind=coalesce(given.kind, duerow_message.kind), payload=coalesce(given.payload,
    duerow_message.payload), headers=given.headers, "group"=given."group", priority=given.priority, status='new',
    due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()), first_due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1
    microsecond'), statement_timestamp()), attempts=0, token=(duerow_message.token + 1), leased_by=NULL,
    leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[]),
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]), CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP
    WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS given(id, token, queue, key, kind,
    payload, headers, "group", priority, due, delay)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1

-- statement: owned
-- Read the rows whose token matches, locked against changes where rows can be.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
JOIN duerow_message ON duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
FOR UPDATE OF duerow_message

-- statement: release
-- Give rows whose token matches their place in line and their attempt back; return their receipts.
UPDATE duerow_message
SET due_at=coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    attempts=(duerow_message.attempts - 1), token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS given(id, token, due)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
UPDATE duerow_message
SET status='error', due_at=(statement_timestamp() + (given.delay * INTERVAL '1 microsecond')),
    token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL, last_error=coalesce(CAST(given.error AS
    JSON), duerow_message.last_error)
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]),
    CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS
    given(id, token, delay, error)
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1
