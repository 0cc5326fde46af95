-- statement: bury
-- Bury rows whose token matches, with an error; return their receipts.
UPDATE duerow_message
SET status='dead', due_at=NULL, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL,
    last_error=coalesce(given.error, duerow_message.last_error)
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS error
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token - 1 AS anon_1

-- statement: bury-of_shared
-- Bury rows whose token matches, with an error; return their receipts.
UPDATE duerow_message
SET status='dead', due_at=NULL, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL,
    last_error=coalesce(given.error, duerow_message.last_error)
FROM (SELECT given_rows.value AS id, :given_token AS token, :given_error AS error
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token - 1 AS anon_1

-- statement: commit
-- Delete the rows whose token matches; return their receipts.
DELETE
FROM duerow_message
WHERE (duerow_message.id, duerow_message.token) IN (SELECT given.id, given.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING id, token

-- statement: commit-of_one
-- Delete the rows whose token matches; return their receipts.
DELETE
FROM duerow_message
WHERE (duerow_message.id, duerow_message.token) IN (SELECT given.id, given.token
FROM (SELECT :given_id AS id, :given_token AS token) AS given)
RETURNING id, token

-- statement: commit-of_shared
-- Delete the rows whose token matches; return their receipts.
DELETE
FROM duerow_message
WHERE (duerow_message.id, duerow_message.token) IN (SELECT given.id, given.token
FROM (SELECT given_rows.value AS id, :given_token AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING id, token

-- statement: extend
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
UPDATE duerow_message
SET due_at=(:now + :lease), leased_until=(:now + :lease)
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token, leased_until

-- statement: extend-of_shared
-- Extend leases to now + lease; return id, token and new end of those whose token matches.
UPDATE duerow_message
SET due_at=(:now + :lease), leased_until=(:now + :lease)
FROM (SELECT given_rows.value AS id, :given_token AS token
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token, leased_until

-- statement: leased_range
-- Read the messages of a claim in a range of ids; the planner should use only the range.
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
-- Read the rows of a queue whose token matches, with the columns of OUTLINE.
SELECT duerow_message.id, duerow_message."key", duerow_message.headers AS headers, duerow_message."group",
    duerow_message.priority
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = :queue_in

-- statement: move
-- Send rows whose token matches to another queue; return their receipts.
UPDATE duerow_message
SET queue=given.queue, "key"=given."key", kind=coalesce(given.kind, duerow_message.kind),
    payload=coalesce(given.payload, duerow_message.payload), headers=given.headers, "group"=given."group",
    priority=given.priority, status='new', due_at=coalesce(given.due, :now + given.delay, :now),
    first_due_at=coalesce(given.due, :now + given.delay, :now), attempts=0, token=(duerow_message.token + 1),
    leased_by=NULL, leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS queue, json_extract(given_rows.value, '$[3]') AS "key",
    json_extract(given_rows.value, '$[4]') AS kind, json_extract(given_rows.value, '$[5]') AS payload,
    json_extract(given_rows.value, '$[6]') AS headers, json_extract(given_rows.value, '$[7]') AS "group",
    json_extract(given_rows.value, '$[8]') AS priority, json_extract(given_rows.value, '$[9]') AS due,
    json_extract(given_rows.value, '$[10]') AS delay
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token - 1 AS anon_1

-- statement: owned
-- Read the rows whose token matches, and lock them if the database can.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token

-- statement: owned-of_shared
-- Read the rows whose token matches, and lock them if the database can.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT given_rows.value AS id, :given_token AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token

-- statement: release
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
UPDATE duerow_message
SET due_at=coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    attempts=(duerow_message.attempts - 1), token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS due
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token - 1 AS anon_1

-- statement: release-of_shared
-- Restore the place in line and the number of attempts of rows whose token matches; return their
-- receipts.
UPDATE duerow_message
SET due_at=coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    attempts=(duerow_message.attempts - 1), token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM (SELECT given_rows.value AS id, :given_token AS token, :given_due AS due
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token - 1 AS anon_1

-- statement: roll_back
-- Give rows whose token matches a new due time and an error; return their receipts.
UPDATE duerow_message
SET status='error', due_at=(:now + given.delay), token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL,
    last_error=coalesce(given.error, duerow_message.last_error)
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS delay, json_extract(given_rows.value, '$[3]') AS error
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token
RETURNING id, token - 1 AS anon_1
