-- statement: expired_keys
-- Lock expired keys, and read them.
SELECT duerow_remembered.queue, duerow_remembered.key
FROM duerow_remembered
WHERE duerow_remembered.until <= statement_timestamp()
ORDER BY duerow_remembered.until
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED

-- statement: expired_turns
-- Lock expired turns, and read their receipts.
SELECT duerow_history.id, duerow_history.token
FROM duerow_history
WHERE duerow_history.until <= statement_timestamp()
ORDER BY duerow_history.until
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED

-- statement: forget_keys
-- Delete remembered keys; return the ids of their former holders.
DELETE
FROM duerow_remembered
USING (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key) AS given
WHERE duerow_remembered.queue = ANY (ARRAY[given.queue]) AND duerow_remembered.key = ANY (ARRAY[given.key])
RETURNING duerow_remembered.id

-- statement: forget_turns
-- Delete turns; return their ids.
DELETE
FROM duerow_history
USING (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
WHERE duerow_history.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_history.token = given.token) THEN true ELSE
    false END
RETURNING duerow_history.id

-- statement: history_rows
-- Read turns of a queue's history; built for one use, with the condition's values.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.key, duerow_history.kind,
    CAST(duerow_history.payload AS TEXT) AS payload, CAST(duerow_history.headers AS TEXT) AS headers,
    duerow_history."group", duerow_history.priority, duerow_history.outcome, duerow_history.moved_to,
    duerow_history.attempts, duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at,
    duerow_history.started_at, duerow_history.finished_at, duerow_history.worker, CAST(duerow_history.error AS TEXT)
    AS error
FROM duerow_history
WHERE duerow_history.queue = :queue_in::VARCHAR AND duerow_history.outcome = :param_1::VARCHAR AND (CASE WHEN CASE
    WHEN (json_typeof(duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND
    (((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN
    CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN
    -9223372036854775808 AND 9223372036854775807 ELSE false END THEN CAST((duerow_history.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END = :param_3::BIGINT OR CASE WHEN CASE
    WHEN (json_typeof(duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND
    (((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN
    CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN
    -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN (json_typeof(duerow_history.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND length((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[])) <= 400 AND (((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}'
    AS TEXT[])) ~ '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_history.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC))
    THEN NULL WHEN (abs(CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS
    NUMERIC)) < CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE
    CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END
    END = CAST(:param_4 AS DOUBLE PRECISION)) AND (CASE WHEN (json_typeof(duerow_history.error ->
    CAST(:param_5::VARCHAR AS TEXT)) = 'string') THEN (duerow_history.error -> CAST(:param_5::VARCHAR AS TEXT)) #>>
    CAST('{}' AS TEXT[]) END COLLATE "C") LIKE :param_6::VARCHAR AND (duerow_history.finished_at, duerow_history.id,
    duerow_history.token) < (:param_7::TIMESTAMP WITH TIME ZONE, :param_8::BIGINT, :param_9::BIGINT)
ORDER BY duerow_history.finished_at DESC, duerow_history.id DESC, duerow_history.token DESC
LIMIT :limit_in::INTEGER

-- statement: history_rows-ends
-- Read turns of a queue's history; built for one use, with the condition's values.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.key, duerow_history.kind,
    CAST(duerow_history.payload AS TEXT) AS payload, CAST(duerow_history.headers AS TEXT) AS headers,
    duerow_history."group", duerow_history.priority, duerow_history.outcome, duerow_history.moved_to,
    duerow_history.attempts, duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at,
    duerow_history.started_at, duerow_history.finished_at, duerow_history.worker, CAST(duerow_history.error AS TEXT)
    AS error
FROM duerow_history
WHERE duerow_history.queue = :queue_in::VARCHAR AND duerow_history.id = :param_1::BIGINT AND duerow_history.outcome !=
    'failed'
ORDER BY duerow_history.token
LIMIT :limit_in::INTEGER

-- statement: hold_remembered
-- Hold the given keys unless they are remembered, even by a concurrent commit; return the keys held.
INSERT INTO duerow_remembered (queue, key, id, until) SELECT given.queue, given.key, given.id, :over::TIMESTAMP WITH
    TIME ZONE AS anon_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key, unnest(CAST((SELECT
    CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS given
WHERE 1 = 1
ORDER BY given.queue, given.key
ON CONFLICT (queue, key) DO UPDATE
SET id = excluded.id, until = excluded.until
WHERE duerow_remembered.until <= statement_timestamp()
RETURNING duerow_remembered.queue, duerow_remembered.key

-- statement: keep_lapsed
-- Write the turns of picked rows whose lease expired: as failed, or as dead if attempts are used up.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message.key, duerow_message.kind, duerow_message.payload,
    duerow_message.headers, duerow_message."group", duerow_message.priority, duerow_message.attempts,
    duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_1, NULL AS anon_1, coalesce(duerow_message.last_attempt_at,
    statement_timestamp()) AS coalesce_2, duerow_message.leased_until, duerow_message.leased_by,
    CAST(concat('{"message":', to_json(concat('was in hand when its worker died: lease of ', duerow_message.leased_by,
    ' ended at ', to_char(timezone('UTC', duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ',
    duerow_message.attempts, ' of ', coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))),
    ',"traceback":null,"type":"LeaseEnded"}') AS JSON) AS concat_1, 'failed', statement_timestamp() +
    (:history::BIGINT * INTERVAL '1 microsecond') AS anon_2
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND duerow_message.leased_until IS NOT NULL
FOR UPDATE OF duerow_message
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: keep_lapsed-buries
-- Write the turns of picked rows whose lease expired: as failed, or as dead if attempts are used up.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message.key, duerow_message.kind, duerow_message.payload,
    duerow_message.headers, duerow_message."group", duerow_message.priority, duerow_message.attempts,
    duerow_message.created_at, duerow_message.first_due_at, coalesce(duerow_message.place_at,
    duerow_message.first_due_at) AS coalesce_1, CASE WHEN (duerow_message.attempts >= :attempts_in::INTEGER) THEN
    :to_in::VARCHAR END AS anon_1, coalesce(duerow_message.last_attempt_at, statement_timestamp()) AS coalesce_2,
    duerow_message.leased_until, duerow_message.leased_by, CAST(concat('{"message":', to_json(concat('was in hand when
    its worker died: lease of ', duerow_message.leased_by, ' ended at ', to_char(timezone('UTC',
    duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ', duerow_message.attempts, ' of ',
    coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') AS JSON)
    AS concat_1, CASE WHEN (duerow_message.attempts >= :attempts_in::INTEGER) THEN 'dead' ELSE 'failed' END AS anon_2,
    statement_timestamp() + (:history::BIGINT * INTERVAL '1 microsecond') AS anon_3
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND duerow_message.leased_until IS NOT NULL
FOR UPDATE OF duerow_message
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: keep_parts
-- Write turns of messages that become parts of sets, with their own headers.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message.key, coalesce(given.kind, duerow_message.kind) AS
    coalesce_1, coalesce(given.payload, duerow_message.payload) AS coalesce_2, given.headers, duerow_message."group",
    duerow_message.priority, duerow_message.attempts, duerow_message.created_at, duerow_message.first_due_at,
    coalesce(duerow_message.place_at, duerow_message.first_due_at) AS coalesce_3, given.moved_to,
    coalesce(duerow_message.last_attempt_at, statement_timestamp()) AS coalesce_4, statement_timestamp() AS
    statement_timestamp_1, duerow_message.leased_by, CAST(given.error AS JSON) AS error, given.outcome,
    statement_timestamp() + (:history::BIGINT * INTERVAL '1 microsecond') AS anon_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_outcome::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS outcome,
    unnest(CAST((SELECT CAST(CAST(:given_moved_to::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS moved_to,
    unnest(CAST((SELECT CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS payload, unnest(CAST((SELECT
    CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS error, unnest(CAST((SELECT
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS headers) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token)
    THEN true ELSE false END
FOR UPDATE OF duerow_message
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: keep_popped
-- Write the turns of picked rows that are about to be popped.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token + 1 AS anon_1, duerow_message.queue, duerow_message.key, duerow_message.kind,
    duerow_message.payload, duerow_message.headers, duerow_message."group", duerow_message.priority,
    duerow_message.attempts + 1 AS anon_2, duerow_message.created_at, duerow_message.first_due_at,
    duerow_message.due_at, NULL AS anon_3, statement_timestamp() AS statement_timestamp_1, statement_timestamp() AS
    statement_timestamp__1, NULL AS anon__1, NULL AS anon__2, 'done', statement_timestamp() + (:history::BIGINT *
    INTERVAL '1 microsecond') AS anon_4
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id])
FOR UPDATE OF duerow_message
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: keep_turns
-- Write the ending turns of rows whose token matches, and lock the rows.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token, duerow_message.queue, duerow_message.key, coalesce(given.kind, duerow_message.kind) AS
    coalesce_1, coalesce(given.payload, duerow_message.payload) AS coalesce_2, duerow_message.headers,
    duerow_message."group", duerow_message.priority, duerow_message.attempts, duerow_message.created_at,
    duerow_message.first_due_at, coalesce(duerow_message.place_at, duerow_message.first_due_at) AS coalesce_3,
    given.moved_to, coalesce(duerow_message.last_attempt_at, statement_timestamp()) AS coalesce_4,
    statement_timestamp() AS statement_timestamp_1, duerow_message.leased_by, CAST(given.error AS JSON) AS error,
    given.outcome, statement_timestamp() + (:history::BIGINT * INTERVAL '1 microsecond') AS anon_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_outcome::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS outcome,
    unnest(CAST((SELECT CAST(CAST(:given_moved_to::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS moved_to,
    unnest(CAST((SELECT CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS payload, unnest(CAST((SELECT
    CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS error) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token)
    THEN true ELSE false END
FOR UPDATE OF duerow_message
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until

-- statement: remember
-- Remember the given keys of messages that have left.
INSERT INTO duerow_remembered (queue, key, id, until) SELECT given.queue, given.key, given.id, statement_timestamp() +
    (:keys::BIGINT * INTERVAL '1 microsecond') AS anon_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key, unnest(CAST((SELECT
    CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS given
WHERE 1 = 1
ORDER BY given.queue, given.key
ON CONFLICT (queue, key) DO UPDATE
SET id = excluded.id, until = excluded.until

-- statement: remember_ended
-- Remember the keys of rows whose token matches and whose turn is ending, and lock the rows.
INSERT INTO duerow_remembered (queue, key, id, until) SELECT duerow_message.queue, duerow_message.key,
    duerow_message.id, statement_timestamp() + (:keys::BIGINT * INTERVAL '1 microsecond') AS anon_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token)
    THEN true ELSE false END
WHERE duerow_message.key IS NOT NULL
ORDER BY duerow_message.queue, duerow_message.key
FOR UPDATE OF duerow_message
ON CONFLICT (queue, key) DO UPDATE
SET id = excluded.id, until = excluded.until

-- statement: remembered
-- Read the former holders of the given keys, and whether they are still remembered.
SELECT found.queue, found.key, found.id, found.still
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key) AS given
JOIN LATERAL (SELECT duerow_remembered.queue AS queue, duerow_remembered.key AS key, duerow_remembered.id AS id,
    duerow_remembered.until > statement_timestamp() AS still
FROM duerow_remembered
WHERE duerow_remembered.queue = given.queue AND duerow_remembered.key = given.key
LIMIT 1) AS found ON true

-- statement: scan_history
-- Read turns of the given `queues`, ordered by id and token; with `descending`, in descending order.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.key, duerow_history.kind,
    CAST(duerow_history.payload AS TEXT) AS payload, CAST(duerow_history.headers AS TEXT) AS headers,
    duerow_history."group", duerow_history.priority, duerow_history.outcome, duerow_history.moved_to,
    duerow_history.attempts, duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at,
    duerow_history.started_at, duerow_history.finished_at, duerow_history.worker, CAST(duerow_history.error AS TEXT)
    AS error
FROM duerow_history
WHERE duerow_history.id <= :last::BIGINT AND coalesce(duerow_history.queue, '') = ANY (CAST((SELECT
    CAST(CAST(:queues_value::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AND duerow_history.outcome = :param_1::VARCHAR
    AND (CASE WHEN CASE WHEN (json_typeof(duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND
    (((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN
    CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN
    -9223372036854775808 AND 9223372036854775807 ELSE false END THEN CAST((duerow_history.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) END = :param_3::BIGINT OR CASE WHEN CASE
    WHEN (json_typeof(duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND
    (((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[])) ~ '^-?[0-9]{1,19}$')) THEN
    CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC) BETWEEN
    -9223372036854775808 AND 9223372036854775807 ELSE false END THEN NULL WHEN (json_typeof(duerow_history.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) = 'number' AND length((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT))
    #>> CAST('{}' AS TEXT[])) <= 400 AND (((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}'
    AS TEXT[])) ~ '^[^eE]+([eE][-+]?[0-9]{1,3})?$')) THEN CASE WHEN (abs(CAST((duerow_history.payload ->
    CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS NUMERIC)) > CAST(1.7976931348623157e308 AS NUMERIC))
    THEN NULL WHEN (abs(CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS
    NUMERIC)) < CAST(4.9406564584124654e-324 AS NUMERIC)) THEN CAST(0 AS DOUBLE PRECISION) ELSE
    CAST((duerow_history.payload -> CAST(:param_2::VARCHAR AS TEXT)) #>> CAST('{}' AS TEXT[]) AS DOUBLE PRECISION) END
    END = CAST(:param_4 AS DOUBLE PRECISION)) AND (CASE WHEN (json_typeof(duerow_history.error ->
    CAST(:param_5::VARCHAR AS TEXT)) = 'string') THEN (duerow_history.error -> CAST(:param_5::VARCHAR AS TEXT)) #>>
    CAST('{}' AS TEXT[]) END COLLATE "C") LIKE :param_6::VARCHAR AND (duerow_history.id, duerow_history.token) >
    (:after::BIGINT, :after_token::BIGINT)
ORDER BY duerow_history.id, duerow_history.token
LIMIT :limit_in::INTEGER

-- statement: scan_history-descending
-- Read turns of the given `queues`, ordered by id and token; with `descending`, in descending order.
SELECT duerow_history.id
FROM duerow_history
WHERE duerow_history.id <= :last::BIGINT
ORDER BY duerow_history.id DESC, duerow_history.token DESC
LIMIT :limit_in::INTEGER
