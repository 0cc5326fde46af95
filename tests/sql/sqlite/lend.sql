-- statement: leased_range
-- Read the messages of a claim in a range of ids; the planner should use nothing but the range.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id BETWEEN :first_in AND :last_in AND duerow_message.leased_by = :consumer AND
    duerow_message.queue = :queue_in
ORDER BY duerow_message.id
LIMIT :limit_in OFFSET :param_1

-- statement: lend_picked_unread
-- Like `lend`, but return only receipts, former due times and groups.
UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 'dead'
    ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END END,
    due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL
    ELSE :now + :lease END, place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 0 ELSE 1 END),
    token=(duerow_message.token + 1), leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN NULL ELSE :consumer END, leased_until=CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL ELSE :now + :lease
    END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN duerow_message.last_attempt_at ELSE :now END, last_error=CASE WHEN (duerow_message.leased_until
    IS NOT NULL) THEN json_object('message', CAST('was in hand when its worker died: lease of ' AS TEXT) ||
    duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', duerow_message.leased_until / 1000000,
    'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT) || ' of ' || coalesce(CAST(:attempts_in
    AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE duerow_message.last_error END
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id
RETURNING id, token, status, place_at, "group"

-- statement: lend_unread
-- Like `reserve`, but return only receipts, former due times and the floor.
UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 'dead'
    ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END END,
    due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL
    ELSE :now + :lease END, place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 0 ELSE 1 END),
    token=(duerow_message.token + 1), leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN NULL ELSE :consumer END, leased_until=CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL ELSE :now + :lease
    END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN duerow_message.last_attempt_at ELSE :now END, last_error=CASE WHEN (duerow_message.leased_until
    IS NOT NULL) THEN json_object('message', CAST('was in hand when its worker died: lease of ' AS TEXT) ||
    duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', duerow_message.leased_until / 1000000,
    'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT) || ' of ' || coalesce(CAST(:attempts_in
    AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE duerow_message.last_error END
WHERE duerow_message.id IN (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, token, status, place_at

-- statement: lend_unread-from_floor
-- Like `reserve`, but return only receipts, former due times and the floor.
UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 'dead'
    ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END END,
    due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL
    ELSE :now + :lease END, place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 0 ELSE 1 END),
    token=(duerow_message.token + 1), leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN NULL ELSE :consumer END, leased_until=CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL ELSE :now + :lease
    END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN duerow_message.last_attempt_at ELSE :now END, last_error=CASE WHEN (duerow_message.leased_until
    IS NOT NULL) THEN json_object('message', CAST('was in hand when its worker died: lease of ' AS TEXT) ||
    duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', duerow_message.leased_until / 1000000,
    'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT) || ' of ' || coalesce(CAST(:attempts_in
    AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE duerow_message.last_error END
WHERE duerow_message.id IN (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL AND duerow_message.due_at >= :floor
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, token, status, place_at

-- statement: lend_unread-of_kinds
-- Like `reserve`, but return only receipts, former due times and the floor.
UPDATE duerow_message
SET status=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 'dead'
    ELSE CASE WHEN (duerow_message.status IN ('new', 'error')) THEN duerow_message.status ELSE 'done' END END,
    due_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL
    ELSE :now + :lease END, place_at=duerow_message.due_at, attempts=(duerow_message.attempts + CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN 0 ELSE 1 END),
    token=(duerow_message.token + 1), leased_by=CASE WHEN (duerow_message.leased_until IS NOT NULL AND
    duerow_message.attempts >= :attempts_in) THEN NULL ELSE :consumer END, leased_until=CASE WHEN
    (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >= :attempts_in) THEN NULL ELSE :now + :lease
    END, last_attempt_at=CASE WHEN (duerow_message.leased_until IS NOT NULL AND duerow_message.attempts >=
    :attempts_in) THEN duerow_message.last_attempt_at ELSE :now END, last_error=CASE WHEN (duerow_message.leased_until
    IS NOT NULL) THEN json_object('message', CAST('was in hand when its worker died: lease of ' AS TEXT) ||
    duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', duerow_message.leased_until / 1000000,
    'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT) || ' of ' || coalesce(CAST(:attempts_in
    AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE duerow_message.last_error END
WHERE duerow_message.id IN (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, token, status, place_at

-- statement: message_headers
-- Read the rows of a queue whose token matches, as OUTLINE.
SELECT duerow_message.id, duerow_message."key", duerow_message.headers AS headers, duerow_message."group",
    duerow_message.priority
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = :queue_in
