-- statement: hasten
-- Move the due time of unleased held messages forward to a given time; return the changed ones.
UPDATE duerow_message
SET due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()), behind_at=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP
    WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS given(id, due, delay)
WHERE duerow_message.id = given.id AND duerow_message.leased_by IS NULL AND coalesce(duerow_message.due_at,
    duerow_message.behind_at) > coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp())
RETURNING duerow_message.id

-- statement: holder_ids
-- Read the ids of the live messages that hold the given keys.
SELECT found.queue, found.key, found.id
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS
    given(queue, key)
JOIN LATERAL (SELECT duerow_message.queue AS queue, duerow_message.key AS key, duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.key = given.key AND duerow_message.key IS NOT NULL AND
    duerow_message.status IN ('new', 'error')
LIMIT 1) AS found ON true

-- statement: holders
-- Read the live messages that hold the given keys, and lock them in order if the database can.
SELECT found.id, found.queue, found.payload, found.kind, found.key, found.headers, found."group", found.priority,
    found.status, found.coalesce_1, found.first_due_at, found.attempts, found.token, found.leased_by,
    found.leased_until, found.created_at, found.last_attempt_at, found.last_error
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS
    given(queue, key)
JOIN LATERAL (SELECT duerow_message.id AS id, duerow_message.queue AS queue, CAST(duerow_message.payload AS TEXT) AS
    payload, duerow_message.kind AS kind, duerow_message.key AS key, CAST(duerow_message.headers AS TEXT) AS headers,
    duerow_message."group" AS "group", duerow_message.priority AS priority, duerow_message.status AS status,
    coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1, duerow_message.first_due_at AS
    first_due_at, duerow_message.attempts AS attempts, duerow_message.token AS token, duerow_message.leased_by AS
    leased_by, duerow_message.leased_until AS leased_until, duerow_message.created_at AS created_at,
    duerow_message.last_attempt_at AS last_attempt_at, CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = given.queue AND duerow_message.key = given.key AND duerow_message.key IS NOT NULL AND
    duerow_message.status IN ('new', 'error')
LIMIT 1
FOR UPDATE) AS found ON true

-- statement: insert_grouped
-- Like insert_keyless, if some rows are in groups; `behind`: another message of the group goes first.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT given.queue, given.key, given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', CASE WHEN given.behind THEN NULL ELSE coalesce(given.due,
    statement_timestamp() + (given.delay * INTERVAL '1 microsecond'), statement_timestamp()) END AS anon_1,
    coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'), statement_timestamp()) AS
    coalesce_1, 0, 0, statement_timestamp() AS statement_timestamp_1, CASE WHEN given.behind THEN coalesce(given.due,
    statement_timestamp() + (given.delay * INTERVAL '1 microsecond'), statement_timestamp()) ELSE NULL END AS anon_2
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[]),
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]), CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP
    WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_behind::VARCHAR AS
    TEXT) AS BOOLEAN[])) AS given(queue, key, kind, payload, headers, "group", priority, due, delay, behind)
RETURNING duerow_message.id

-- statement: insert_keyless
-- Add messages without keys; return their ids, which follow the order given.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.queue, given.key, given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1
    microsecond'), statement_timestamp()) AS coalesce_1, coalesce(given.due, statement_timestamp() + (given.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) AS coalesce__1, 0, 0, statement_timestamp() AS
    statement_timestamp_1
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[]),
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]), CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP
    WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS given(queue, key, kind, payload,
    headers, "group", priority, due, delay)
RETURNING duerow_message.id

-- statement: insert_keyless-plain
-- Add messages without keys; return their ids, which follow the order given.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.queue, given.key, given.kind, given.payload, CAST(NULL AS JSON) AS
    anon_1, given."group", given.priority, 'new', statement_timestamp() AS statement_timestamp_1,
    statement_timestamp() AS statement_timestamp__1, 0, 0, statement_timestamp() AS statement_timestamp__2
FROM (SELECT given_rows.payload AS payload, CAST(:given_queue::VARCHAR AS TEXT) AS queue, CAST(:given_key::VARCHAR AS
    TEXT) AS key, CAST(:given_kind::VARCHAR AS TEXT) AS kind, CAST(:given_group::VARCHAR AS TEXT) AS "group",
    CAST(:given_priority::SMALLINT AS SMALLINT) AS priority
FROM unnest(CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[])) AS given_rows(payload)) AS given
RETURNING duerow_message.id

-- statement: insert_many
-- Add messages with given ids; return the ids of those whose key was free. Locks in key order.
INSERT INTO duerow_message (id, queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.id, given.queue, given.key, given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1
    microsecond'), statement_timestamp()) AS coalesce_1, coalesce(given.due, statement_timestamp() + (given.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) AS coalesce__1, 0, 0, statement_timestamp() AS
    statement_timestamp_1
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[]), CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[]),
    CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]),
    CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS
    BIGINT[])) AS given(id, queue, key, kind, payload, headers, "group", priority, due, delay)
WHERE 1 = 1
ORDER BY given.queue, given.key, given.id
ON CONFLICT (queue, key)
WHERE key IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING duerow_message.id

-- statement: insert_one
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at)
VALUES (:queue_in::VARCHAR, NULL, :kind_in::VARCHAR, CAST(:payload_in::VARCHAR AS JSON), CAST(NULL AS JSON), NULL, 0,
    'new', statement_timestamp(), statement_timestamp(), 0, 0, statement_timestamp())
RETURNING duerow_message.id, (SELECT pg_notify('duerow_wake', duerow_waiting.queue) AS pg_notify_1
FROM duerow_waiting
WHERE duerow_waiting.queue = :queue_in::VARCHAR AND duerow_waiting.until > statement_timestamp()) AS anon_1

-- statement: insert_one-asking
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT CAST(:queue_in::VARCHAR AS TEXT) AS anon_2, CAST(:key_in::VARCHAR AS TEXT) AS
    anon_3, CAST(:kind_in::VARCHAR AS TEXT) AS anon_4, CAST(CAST(:payload_in::VARCHAR AS TEXT) AS JSON) AS anon_5,
    CAST(NULL AS JSON) AS anon_6, NULL AS anon__1, 0, 'new', statement_timestamp() AS statement_timestamp_1,
    statement_timestamp() AS statement_timestamp__1, 0, 0, statement_timestamp() AS statement_timestamp__2
WHERE NOT (EXISTS (SELECT *
FROM duerow_queue
WHERE duerow_queue.name = :queue_in::VARCHAR AND duerow_queue.draining))
ON CONFLICT (queue, key)
WHERE key IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING duerow_message.id, (SELECT pg_notify('duerow_wake', duerow_waiting.queue) AS pg_notify_1
FROM duerow_waiting
WHERE duerow_waiting.queue = :queue_in::VARCHAR AND duerow_waiting.until > statement_timestamp()) AS anon_1

-- statement: insert_one-delay-due-headers-key
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at)
VALUES (:queue_in::VARCHAR, :key_in::VARCHAR, :kind_in::VARCHAR, CAST(:payload_in::VARCHAR AS JSON),
    CAST(:headers_in::VARCHAR AS JSON), NULL, 0, 'new', coalesce(:due_in::TIMESTAMP WITH TIME ZONE,
    statement_timestamp() + (:delay_in::BIGINT * INTERVAL '1 microsecond'), statement_timestamp()),
    coalesce(:due_in::TIMESTAMP WITH TIME ZONE, statement_timestamp() + (:delay_in::BIGINT * INTERVAL '1
    microsecond'), statement_timestamp()), 0, 0, statement_timestamp())
ON CONFLICT (queue, key)
WHERE key IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING duerow_message.id, (SELECT pg_notify('duerow_wake', duerow_waiting.queue) AS pg_notify_1
FROM duerow_waiting
WHERE duerow_waiting.queue = :queue_in::VARCHAR AND duerow_waiting.until > statement_timestamp()) AS anon_1

-- statement: next_ids
-- Return `count` new ids, ascending.
SELECT nextval('duerow_message_id_seq') AS next_value_1
FROM generate_series(:generate_series_1::INTEGER, CAST(:count::INTEGER AS INTEGER)) AS anon_1

-- statement: replace
-- Give held messages the content of a new push; a lease on them ends.
UPDATE duerow_message
SET kind=given.kind, payload=given.payload, headers=given.headers, "group"=given."group", priority=given.priority,
    status='new', due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()), behind_at=NULL, first_due_at=coalesce(given.due, statement_timestamp() + (given.delay *
    INTERVAL '1 microsecond'), statement_timestamp()), attempts=0, token=(duerow_message.token + 1), leased_by=NULL,
    leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[]), CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[]),
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[]), CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[]),
    CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[]),
    CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[]), CAST(CAST(:given_delay::VARCHAR AS TEXT) AS
    BIGINT[])) AS given(id, kind, payload, headers, "group", priority, due, delay)
WHERE duerow_message.id = given.id
