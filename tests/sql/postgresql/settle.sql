-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
UPDATE duerow_message
SET status='dead', due_at=NULL, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL,
    last_error=coalesce(CAST(given.error AS JSON), duerow_message.last_error)
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS error) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1

-- statement: bury-of_shared
-- Bury rows whose token matches, with an error; return their receipts.
UPDATE duerow_message
SET status='dead', due_at=NULL, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL,
    last_error=coalesce(CAST(CAST(:given_error::VARCHAR AS TEXT) AS JSON), duerow_message.last_error)
WHERE duerow_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AND CASE
    WHEN (duerow_message.token = CAST(:given_token::BIGINT AS BIGINT)) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1

-- statement: commit
-- Delete the rows whose token matches; return their receipts.
DELETE
FROM duerow_message
USING (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
RETURNING duerow_message.id, duerow_message.token

-- statement: commit-of_one
-- Delete the rows whose token matches; return their receipts.
DELETE
FROM duerow_message
USING (SELECT CAST(:given_id::BIGINT AS BIGINT) AS id, CAST(:given_token::BIGINT AS BIGINT) AS token) AS given
WHERE duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token

-- statement: commit-of_shared
-- Delete the rows whose token matches; return their receipts.
DELETE
FROM duerow_message
WHERE duerow_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AND CASE
    WHEN (duerow_message.token = CAST(:given_token::BIGINT AS BIGINT)) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token

-- statement: extend
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
UPDATE duerow_message
SET due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')), leased_until=(statement_timestamp()
    + (:lease::BIGINT * INTERVAL '1 microsecond'))
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
RETURNING duerow_message.id, duerow_message.token, duerow_message.leased_until

-- statement: extend-of_shared
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
UPDATE duerow_message
SET due_at=(statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond')), leased_until=(statement_timestamp()
    + (:lease::BIGINT * INTERVAL '1 microsecond'))
WHERE duerow_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AND CASE
    WHEN (duerow_message.token = CAST(:given_token::BIGINT AS BIGINT)) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token, duerow_message.leased_until

-- statement: leased_range
-- Read the messages of a claim in a range of ids; the planner should use only the range.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.id BETWEEN :first_in::BIGINT AND :last_in::BIGINT AND CASE WHEN (duerow_message.leased_by =
    :consumer::VARCHAR) THEN true ELSE false END AND CASE WHEN (duerow_message.queue = :queue_in::VARCHAR) THEN true
    ELSE false END
ORDER BY duerow_message.id
LIMIT :limit_in::INTEGER

-- statement: lend_picked_unread
-- Like `lend`, but return only receipts, former due times and groups.
UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END
    END, due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond') END,
    place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT
    NULL AND duerow_message.attempts >= :attempts_in::INTEGER) THEN 0 ELSE 1 END), token=(duerow_message.token + 1),
    leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN NULL ELSE :consumer::VARCHAR END, leased_until=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT *
    INTERVAL '1 microsecond') END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN duerow_message.last_attempt_at ELSE statement_timestamp()
    END, last_error=CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN CAST(concat('{"message":',
    to_json(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    to_char(timezone('UTC', duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ',
    duerow_message.attempts, ' of ', coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') AS JSON) ELSE duerow_message.last_error END
WHERE duerow_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[]))
RETURNING duerow_message.id, duerow_message.token, duerow_message.status, duerow_message.place_at,
    duerow_message."group"

-- statement: lend_unread
-- Like `reserve`, but return only receipts, former due times and the floor.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL) UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END
    END, due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond') END,
    place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT
    NULL AND duerow_message.attempts >= :attempts_in::INTEGER) THEN 0 ELSE 1 END), token=(duerow_message.token + 1),
    leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN NULL ELSE :consumer::VARCHAR END, leased_until=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT *
    INTERVAL '1 microsecond') END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN duerow_message.last_attempt_at ELSE statement_timestamp()
    END, last_error=CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN CAST(concat('{"message":',
    to_json(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    to_char(timezone('UTC', duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ',
    duerow_message.attempts, ' of ', coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') AS JSON) ELSE duerow_message.last_error END
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    (SELECT first_due.due_at
FROM first_due)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.token, duerow_message.status, duerow_message.place_at, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1

-- statement: lend_unread-from_floor
-- Like `reserve`, but return only receipts, former due times and the floor.
UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END
    END, due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond') END,
    place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT
    NULL AND duerow_message.attempts >= :attempts_in::INTEGER) THEN 0 ELSE 1 END), token=(duerow_message.token + 1),
    leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN NULL ELSE :consumer::VARCHAR END, leased_until=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT *
    INTERVAL '1 microsecond') END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN duerow_message.last_attempt_at ELSE statement_timestamp()
    END, last_error=CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN CAST(concat('{"message":',
    to_json(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    to_char(timezone('UTC', duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ',
    duerow_message.attempts, ' of ', coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') AS JSON) ELSE duerow_message.last_error END
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    (SELECT :floor::TIMESTAMP WITH TIME ZONE)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.token, duerow_message.status, duerow_message.place_at, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL AND oldest.due_at >= (SELECT :floor::TIMESTAMP
    WITH TIME ZONE)), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1

-- statement: lend_unread-of_kinds
-- Like `reserve`, but return only receipts, former due times and the floor.
WITH first_due AS (SELECT min(oldest.due_at) AS due_at
FROM duerow_message AS oldest
WHERE oldest.queue = (SELECT :queue_in::VARCHAR) AND oldest.priority = (SELECT :priority_in::SMALLINT) AND
    oldest.due_at <= statement_timestamp() AND oldest."group" IS NULL AND oldest.kind = ANY (CAST((SELECT
    CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[]))) UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN 'dead' ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END
    END, due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT * INTERVAL '1 microsecond') END,
    place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN (duerow_message.leased_until IS NOT
    NULL AND duerow_message.attempts >= :attempts_in::INTEGER) THEN 0 ELSE 1 END), token=(duerow_message.token + 1),
    leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in::INTEGER)
    THEN NULL ELSE :consumer::VARCHAR END, leased_until=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN NULL ELSE statement_timestamp() + (:lease::BIGINT *
    INTERVAL '1 microsecond') END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in::INTEGER) THEN duerow_message.last_attempt_at ELSE statement_timestamp()
    END, last_error=CASE WHEN (duerow_message.leased_until IS NOT NULL) THEN CAST(concat('{"message":',
    to_json(concat('was in hand when its worker died: lease of ', duerow_message.leased_by, ' ended at ',
    to_char(timezone('UTC', duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ',
    duerow_message.attempts, ' of ', coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') AS JSON) ELSE duerow_message.last_error END
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = (SELECT :queue_in::VARCHAR) AND duerow_message.priority = (SELECT :priority_in::SMALLINT)
    AND duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.kind =
    ANY (CAST((SELECT CAST(ARRAY[:kind_0_in::VARCHAR, :kind_1_in::VARCHAR] AS TEXT[])) AS TEXT[])) AND
    duerow_message.due_at >= (SELECT first_due.due_at
FROM first_due)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT (SELECT :limit_in::INTEGER)
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.token, duerow_message.status, duerow_message.place_at, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT first_due.due_at
FROM first_due), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1

-- statement: message_headers
-- Read the rows of a queue whose token matches, with the columns of OUTLINE.
SELECT duerow_message.id, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token)
    THEN true ELSE false END
WHERE duerow_message.queue = :queue_in::VARCHAR

-- statement: move
-- Send rows whose token matches to another queue; return their receipts.
UPDATE duerow_message
SET queue=given.queue, key=given.key, kind=coalesce(given.kind, duerow_message.kind), payload=coalesce(given.payload,
    duerow_message.payload), headers=given.headers, "group"=given."group", priority=given.priority, status='new',
    due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()), first_due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1
    microsecond'), statement_timestamp()), attempts=0, token=(duerow_message.token + 1), leased_by=NULL,
    leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue, unnest(CAST((SELECT
    CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key, unnest(CAST((SELECT
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS payload, unnest(CAST((SELECT
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS headers, unnest(CAST((SELECT
    CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS "group", unnest(CAST((SELECT
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority, unnest(CAST((SELECT
    CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS due,
    unnest(CAST((SELECT CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS delay) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1

-- statement: owned
-- Read the rows whose token matches, and lock them if the database can.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token)
    THEN true ELSE false END
FOR UPDATE OF duerow_message

-- statement: owned-of_shared
-- Read the rows whose token matches, and lock them if the database can.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM (SELECT given_rows.id AS id, CAST(:given_token::BIGINT AS BIGINT) AS token
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS
    given_rows) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token)
    THEN true ELSE false END
FOR UPDATE OF duerow_message

-- statement: release
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
UPDATE duerow_message
SET due_at=coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    attempts=(duerow_message.attempts - 1), token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME
    ZONE[])) AS due) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1

-- statement: release-of_shared
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
UPDATE duerow_message
SET due_at=coalesce(CAST(:given_due::TIMESTAMP WITH TIME ZONE AS TIMESTAMP WITH TIME ZONE), duerow_message.place_at,
    duerow_message.first_due_at), attempts=(duerow_message.attempts - 1), token=(duerow_message.token + 1),
    leased_by=NULL, leased_until=NULL
WHERE duerow_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AND CASE
    WHEN (duerow_message.token = CAST(:given_token::BIGINT AS BIGINT)) THEN true ELSE false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
UPDATE duerow_message
SET status='error', due_at=(statement_timestamp() + (given.delay * INTERVAL '1 microsecond')),
    token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL, last_error=coalesce(CAST(given.error AS
    JSON), duerow_message.last_error)
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS delay,
    unnest(CAST((SELECT CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS error) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
RETURNING duerow_message.id, duerow_message.token - 1 AS anon_1
