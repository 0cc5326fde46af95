-- statement: leased_range
-- Read the messages of a claim in a range of ids; the planner should use nothing but the range.
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
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id)
WHERE duerow_message.id = given.id
RETURNING duerow_message.id, duerow_message.token, duerow_message.status, duerow_message.place_at,
    duerow_message."group"

-- statement: lend_unread
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
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.priority = :priority_in::SMALLINT AND
    duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.token, duerow_message.status, duerow_message.place_at, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS min_1
FROM duerow_message AS oldest
WHERE oldest.queue = :queue_in::VARCHAR AND oldest.priority = :priority_in::SMALLINT AND oldest.due_at <=
    statement_timestamp() AND oldest."group" IS NULL), TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS
    anon_2) AS anon_1

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
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.priority = :priority_in::SMALLINT AND
    duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.due_at >=
    :floor::TIMESTAMP WITH TIME ZONE
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.token, duerow_message.status, duerow_message.place_at, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS min_1
FROM duerow_message AS oldest
WHERE oldest.queue = :queue_in::VARCHAR AND oldest.priority = :priority_in::SMALLINT AND oldest.due_at <=
    statement_timestamp() AND oldest."group" IS NULL AND oldest.due_at >= :floor::TIMESTAMP WITH TIME ZONE),
    TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1

-- statement: lend_unread-of_kinds
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
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.priority = :priority_in::SMALLINT AND
    duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NULL AND duerow_message.kind IN
    (:kind_0_in::VARCHAR, :kind_1_in::VARCHAR)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.token, duerow_message.status, duerow_message.place_at, (SELECT
    CAST(EXTRACT(epoch
FROM greatest((SELECT min(oldest.due_at) AS min_1
FROM duerow_message AS oldest
WHERE oldest.queue = :queue_in::VARCHAR AND oldest.priority = :priority_in::SMALLINT AND oldest.due_at <=
    statement_timestamp() AND oldest."group" IS NULL AND oldest.kind IN (:kind_0_in::VARCHAR, :kind_1_in::VARCHAR)),
    TIMESTAMPTZ '0001-01-02 00:00:00+00')) * 1000000 AS BIGINT) AS anon_2) AS anon_1

-- statement: message_headers
-- Read the rows of a queue whose token matches, as OUTLINE.
SELECT duerow_message.id, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS given(id, token)
JOIN duerow_message ON duerow_message.id = given.id AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END
WHERE duerow_message.queue = :queue_in::VARCHAR
