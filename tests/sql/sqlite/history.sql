-- statement: expired_keys
-- Lock expired keys, and read them.
SELECT duerow_remembered.queue, duerow_remembered."key"
FROM duerow_remembered
WHERE duerow_remembered.until <= :now
ORDER BY duerow_remembered.until
LIMIT :limit_in OFFSET :param_1

-- statement: expired_turns
-- Lock expired turns, and read their receipts.
SELECT duerow_history.id, duerow_history.token
FROM duerow_history
WHERE duerow_history.until <= :now
ORDER BY duerow_history.until
LIMIT :limit_in OFFSET :param_1

-- statement: forget_keys
-- Delete remembered keys; return the ids of their former holders.
DELETE
FROM duerow_remembered
WHERE (duerow_remembered.queue, duerow_remembered."key") IN (SELECT given.queue, given."key"
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key"
FROM json_each(:given) AS given_rows) AS given)
RETURNING id

-- statement: forget_turns
-- Delete turns; return their ids.
DELETE
FROM duerow_history
WHERE (duerow_history.id, duerow_history.token) IN (SELECT given.id, given.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given)
RETURNING id

-- statement: history_rows
-- Read turns of a queue's history; built for one use, with the condition's values.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history."key", duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history."group",
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.queue = :queue_in AND duerow_history.outcome = :param_1 AND (CASE WHEN (json_type(CASE WHEN
    (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) IN ('integer', 'real') AND
    typeof(json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2))
    = 'integer') THEN json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END,
    :param_2) END = :param_3 OR CASE WHEN (json_type(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN
    duerow_history.payload END, :param_2) IN ('integer', 'real') AND typeof(json_extract(CASE WHEN
    (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2)) = 'real' AND
    json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) >
    -9e999 AND json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END,
    :param_2) < 9e999) THEN json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN
    duerow_history.payload END, :param_2) END = json_extract(:param_4, '$')) AND (CASE WHEN (json_type(CASE WHEN
    (json_valid(duerow_history.error) = 1) THEN duerow_history.error END, :param_5) = 'text') THEN json_extract(CASE
    WHEN (json_valid(duerow_history.error) = 1) THEN duerow_history.error END, :param_5) END GLOB :param_6) AND
    (duerow_history.finished_at, duerow_history.id, duerow_history.token) < (:param_7, :param_8, :param_9)
ORDER BY duerow_history.finished_at DESC, duerow_history.id DESC, duerow_history.token DESC
LIMIT :limit_in OFFSET :param_10

-- statement: history_rows-ends
-- Read turns of a queue's history; built for one use, with the condition's values.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history."key", duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history."group",
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.queue = :queue_in AND duerow_history.id = :param_1 AND duerow_history.outcome != 'failed'
ORDER BY duerow_history.token
LIMIT :limit_in OFFSET :param_2

-- statement: hold_remembered
-- Hold the given keys unless they are remembered, even by a concurrent commit; return the keys held.
INSERT INTO duerow_remembered (queue, "key", id, until) SELECT given.queue, given."key", given.id, :over AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key",
    json_extract(given_rows.value, '$[2]') AS id
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given."key"
ON CONFLICT (queue, "key") DO UPDATE
SET id = excluded.id, until = excluded.until
WHERE duerow_remembered.until <= :now
RETURNING queue, "key"

-- statement: keep_lapsed
-- Write the turns of picked rows whose lease expired: as failed, or as dead if attempts are used up.
INSERT INTO duerow_history (id, token, queue, "key", kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message."key", duerow_message.kind, duerow_message.payload,
    duerow_message.headers, duerow_message."group", duerow_message.priority, duerow_message.attempts,
    duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_1, NULL AS anon_1, coalesce(duerow_message.last_attempt_at, :now) AS
    coalesce_2, duerow_message.leased_until, duerow_message.leased_by, json_object('message', CAST('was in hand when
    its worker died: lease of ' AS TEXT) || duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S',
    duerow_message.leased_until / 1000000, 'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT)
    || ' of ' || coalesce(CAST(:attempts_in AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') AS
    json_object_1, 'failed', :now + :history AS anon_2
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.leased_until IS NOT NULL
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: keep_lapsed-buries
-- Write the turns of picked rows whose lease expired: as failed, or as dead if attempts are used up.
INSERT INTO duerow_history (id, token, queue, "key", kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message."key", duerow_message.kind, duerow_message.payload,
    duerow_message.headers, duerow_message."group", duerow_message.priority, duerow_message.attempts,
    duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_1, CASE WHEN (duerow_message.attempts >= :attempts_in) THEN :to_in END AS
    anon_1, coalesce(duerow_message.last_attempt_at, :now) AS coalesce_2, duerow_message.leased_until,
    duerow_message.leased_by, json_object('message', CAST('was in hand when its worker died: lease of ' AS TEXT) ||
    duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S', duerow_message.leased_until / 1000000,
    'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT) || ' of ' || coalesce(CAST(:attempts_in
    AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') AS json_object_1, CASE WHEN
    (duerow_message.attempts >= :attempts_in) THEN 'dead' ELSE 'failed' END AS anon_2, :now + :history AS anon_3
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.leased_until IS NOT NULL
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: keep_parts
-- Write turns of messages that become parts of sets, with their own headers.
INSERT INTO duerow_history (id, token, queue, "key", kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message."key", coalesce(given.kind, duerow_message.kind) AS
    coalesce_1, coalesce(given.payload, duerow_message.payload) AS coalesce_2, given.headers, duerow_message."group",
    duerow_message.priority, duerow_message.attempts, duerow_message.created_at, duerow_message.first_due_at,
    coalesce(duerow_message.place_at, duerow_message.first_due_at) AS coalesce_3, given.moved_to,
    coalesce(duerow_message.last_attempt_at, :now) AS coalesce_4, :now AS anon_1, duerow_message.leased_by,
    given.error, given.outcome, :now + :history AS anon_2
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS outcome, json_extract(given_rows.value, '$[3]') AS moved_to,
    json_extract(given_rows.value, '$[4]') AS kind, json_extract(given_rows.value, '$[5]') AS payload,
    json_extract(given_rows.value, '$[6]') AS error, json_extract(given_rows.value, '$[7]') AS headers
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: keep_popped
-- Write the turns of picked rows that are about to be popped.
INSERT INTO duerow_history (id, token, queue, "key", kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token + 1 AS anon_1, duerow_message.queue, duerow_message."key", duerow_message.kind,
    duerow_message.payload, duerow_message.headers, duerow_message."group", duerow_message.priority,
    duerow_message.attempts + 1 AS anon_2, duerow_message.created_at, duerow_message.first_due_at,
    duerow_message.due_at, NULL AS anon_3, :now AS anon_4, :now AS anon__1, NULL AS anon__2, NULL AS anon__3, 'done',
    :now + :history AS anon_5
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: keep_turns
-- Write the ending turns of rows whose token matches, and lock the rows.
INSERT INTO duerow_history (id, token, queue, "key", kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message."key", coalesce(given.kind, duerow_message.kind) AS
    coalesce_1, coalesce(given.payload, duerow_message.payload) AS coalesce_2, duerow_message.headers,
    duerow_message."group", duerow_message.priority, duerow_message.attempts, duerow_message.created_at,
    duerow_message.first_due_at, coalesce(duerow_message.place_at, duerow_message.first_due_at) AS coalesce_3,
    given.moved_to, coalesce(duerow_message.last_attempt_at, :now) AS coalesce_4, :now AS anon_1,
    duerow_message.leased_by, given.error, given.outcome, :now + :history AS anon_2
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS outcome, json_extract(given_rows.value, '$[3]') AS moved_to,
    json_extract(given_rows.value, '$[4]') AS kind, json_extract(given_rows.value, '$[5]') AS payload,
    json_extract(given_rows.value, '$[6]') AS error
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: remember
-- Remember the given keys of messages that have left.
INSERT INTO duerow_remembered (queue, "key", id, until) SELECT given.queue, given."key", given.id, :now + :keys AS
    anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key",
    json_extract(given_rows.value, '$[2]') AS id
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given."key"
ON CONFLICT (queue, "key") DO UPDATE
SET id = excluded.id, until = excluded.until

-- statement: remember_ended
-- Remember the keys of rows whose token matches and whose turn is ending, and lock the rows.
INSERT INTO duerow_remembered (queue, "key", id, until) SELECT duerow_message.queue, duerow_message."key",
    duerow_message.id, :now + :keys AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message."key" IS NOT NULL
ORDER BY duerow_message.queue, duerow_message."key"
ON CONFLICT (queue, "key") DO UPDATE
SET id = excluded.id, until = excluded.until

-- statement: remembered
-- Read the former holders of the given keys, and whether they are still remembered.
SELECT duerow_remembered.queue, duerow_remembered."key", duerow_remembered.id, duerow_remembered.until > :now AS still
FROM duerow_remembered
WHERE (duerow_remembered.queue, duerow_remembered."key") IN (SELECT given.queue, given."key"
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key"
FROM json_each(:given) AS given_rows) AS given)

-- statement: scan_history
-- Read turns of the given `queues`, ordered by id and token; with `descending`, in descending order.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history."key", duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history."group",
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.id <= :last AND coalesce(duerow_history.queue, '') IN (SELECT queues.value
FROM (SELECT queues_rows.value AS value
FROM json_each(:queues) AS queues_rows) AS queues) AND duerow_history.outcome = :param_1 AND (CASE WHEN
    (json_type(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) IN
    ('integer', 'real') AND typeof(json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN
    duerow_history.payload END, :param_2)) = 'integer') THEN json_extract(CASE WHEN
    (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) END = :param_3 OR CASE WHEN
    (json_type(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) IN
    ('integer', 'real') AND typeof(json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN
    duerow_history.payload END, :param_2)) = 'real' AND json_extract(CASE WHEN (json_valid(duerow_history.payload) =
    1) THEN duerow_history.payload END, :param_2) > -9e999 AND json_extract(CASE WHEN
    (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) < 9e999) THEN
    json_extract(CASE WHEN (json_valid(duerow_history.payload) = 1) THEN duerow_history.payload END, :param_2) END =
    json_extract(:param_4, '$')) AND (CASE WHEN (json_type(CASE WHEN (json_valid(duerow_history.error) = 1) THEN
    duerow_history.error END, :param_5) = 'text') THEN json_extract(CASE WHEN (json_valid(duerow_history.error) = 1)
    THEN duerow_history.error END, :param_5) END GLOB :param_6) AND (duerow_history.id, duerow_history.token) >
    (:after, :after_token)
ORDER BY duerow_history.id, duerow_history.token
LIMIT :limit_in OFFSET :param_7

-- statement: scan_history-descending
-- Read turns of the given `queues`, ordered by id and token; with `descending`, in descending order.
SELECT duerow_history.id
FROM duerow_history
WHERE duerow_history.id <= :last
ORDER BY duerow_history.id DESC, duerow_history.token DESC
LIMIT :limit_in OFFSET :param_1
