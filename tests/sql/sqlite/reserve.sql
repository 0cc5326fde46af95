-- statement: further_lines
-- Read the lowest priority in use in each given gap, in groups or not, and whether its queue is
-- paused.
SELECT given.queue, given.grouped, CASE WHEN given.grouped THEN (SELECT min(duerow_message.priority) AS min_1
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority > given.low AND duerow_message.priority <
    given.high AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NOT NULL) ELSE (SELECT
    min(duerow_message.priority) AS min_2
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority > given.low AND duerow_message.priority <
    given.high AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NULL) END AS anon_1,
    coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = given.queue), 1 = 0) AS coalesce_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS grouped,
    json_extract(given_rows.value, '$[2]') AS low, json_extract(given_rows.value, '$[3]') AS high
FROM json_each(:given) AS given_rows) AS given

-- statement: lend
-- Lease picked rows, as `reserve` does; if two rows of a group are leased at once, the second lease
-- fails.
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
RETURNING id, payload AS payload, kind, "key", headers AS headers, status, created_at, nullif(first_due_at,
    created_at) AS nullif_1, nullif(place_at, first_due_at) AS nullif_2, attempts, token, :now + :lease AS anon_1,
    last_error AS last_error, priority, "group"

-- statement: next_due
-- Read the next due time of each given line of a queue from the bound `floor` on, and the time.
SELECT given.queue, CASE WHEN given.grouped THEN (SELECT min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.due_at >=
    :floor AND duerow_message."group" IS NOT NULL) ELSE (SELECT min(duerow_message.due_at) AS min_2
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.due_at >=
    :floor AND duerow_message."group" IS NULL) END AS anon_1, :now AS anon_2
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS grouped,
    json_extract(given_rows.value, '$[2]') AS priority
FROM json_each(:given) AS given_rows) AS given

-- statement: next_due-of_kinds
-- Read the next due time of each given line of a queue from the bound `floor` on, and the time.
SELECT given.queue, CASE WHEN given.grouped THEN (SELECT min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= :floor AND duerow_message."group" IS NOT NULL) ELSE (SELECT
    min(duerow_message.due_at) AS min_2
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.priority = given.priority AND duerow_message.kind IN
    (:kind_0_in, :kind_1_in) AND duerow_message.due_at >= :floor AND duerow_message."group" IS NULL) END AS anon_1,
    :now AS anon_2
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS grouped,
    json_extract(given_rows.value, '$[2]') AS priority
FROM json_each(:given) AS given_rows) AS given

-- statement: pick
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message."group"
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1

-- statement: pick-grouped
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message."group"
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1

-- statement: pick-grouped-from_floor
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message."group"
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NOT NULL AND duerow_message.due_at >= :floor
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1

-- statement: pick-of_kinds
-- Lock the oldest due rows of a line; read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message."group"
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NOT NULL AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1

-- statement: pop
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, queue, payload AS payload, kind, "key", headers AS headers, "group", priority, status, coalesce(due_at,
    behind_at) AS coalesce_1, first_due_at, attempts, token, leased_by, leased_until, created_at, last_attempt_at,
    last_error AS last_error, :now AS anon_1

-- statement: pop-from_floor
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL AND duerow_message.due_at >= :floor
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, queue, payload AS payload, kind, "key", headers AS headers, "group", priority, status, coalesce(due_at,
    behind_at) AS coalesce_1, first_due_at, attempts, token, leased_by, leased_until, created_at, last_attempt_at,
    last_error AS last_error, :now AS anon_1

-- statement: pop-of_kinds
-- Delete the oldest due rows of a line without groups; each comes with the time and the floor of
-- `reserve`.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, queue, payload AS payload, kind, "key", headers AS headers, "group", priority, status, coalesce(due_at,
    behind_at) AS coalesce_1, first_due_at, attempts, token, leased_by, leased_until, created_at, last_attempt_at,
    last_error AS last_error, :now AS anon_1

-- statement: reserve
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
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
RETURNING id, payload AS payload, kind, "key", headers AS headers, status, created_at, nullif(first_due_at,
    created_at) AS nullif_1, nullif(place_at, first_due_at) AS nullif_2, attempts, token, :now + :lease AS anon_1,
    last_error AS last_error

-- statement: reserve-from_floor
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
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
RETURNING id, payload AS payload, kind, "key", headers AS headers, status, created_at, nullif(first_due_at,
    created_at) AS nullif_1, nullif(place_at, first_due_at) AS nullif_2, attempts, token, :now + :lease AS anon_1,
    last_error AS last_error

-- statement: reserve-of_kinds
-- Lease the oldest due rows of a line without groups until now + lease, or bury them if attempts are
-- used up.
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
RETURNING id, payload AS payload, kind, "key", headers AS headers, status, created_at, nullif(first_due_at,
    created_at) AS nullif_1, nullif(place_at, first_due_at) AS nullif_2, attempts, token, :now + :lease AS anon_1,
    last_error AS last_error

-- statement: take
-- Delete picked rows, as `pop` does.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT given.id
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given)
RETURNING id, queue, payload AS payload, kind, "key", headers AS headers, "group", priority, status, coalesce(due_at,
    behind_at) AS coalesce_1, first_due_at, attempts, token, leased_by, leased_until, created_at, last_attempt_at,
    last_error AS last_error, :now AS anon_1
