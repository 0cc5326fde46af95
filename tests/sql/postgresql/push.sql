-- statement: forget_notes
-- Delete names; return them.
DELETE
FROM duerow_noted
WHERE duerow_noted.name = ANY (CAST((SELECT CAST(CAST(:given_name::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[]))
RETURNING duerow_noted.name

-- statement: forget_staged
-- Delete the entries of the given stagings.
DELETE
FROM duerow_staged
WHERE duerow_staged.staging_id = ANY (CAST((SELECT CAST(CAST(:given_staging_id::VARCHAR AS TEXT) AS BIGINT[])) AS
    BIGINT[]))

-- statement: forget_stagings
-- Delete the given stagings.
DELETE
FROM duerow_staging
WHERE duerow_staging.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[]))

-- statement: hasten
-- Make unleased messages that hold a key due earlier, at a given time; return the changed ones.
UPDATE duerow_message
SET due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()), behind_at=NULL
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME
    ZONE[])) AS due, unnest(CAST((SELECT CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS
    delay) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND duerow_message.leased_by IS NULL AND
    coalesce(duerow_message.due_at, duerow_message.behind_at) > coalesce(given.due, statement_timestamp() +
    (given.delay * INTERVAL '1 microsecond'), statement_timestamp())
RETURNING duerow_message.id

-- statement: holder_ids
-- Read the ids of the live messages that hold the given keys.
SELECT found.queue, found.key, found.id
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key) AS given
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
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key) AS given
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

-- statement: insert_arrived
-- Add messages in their former state, with given ids; return the ids of messages whose key was free.
INSERT INTO duerow_message (id, queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, last_attempt_at, last_error) SELECT given.id, given.queue, given.key, given.kind,
    given.payload, given.headers, given."group", given.priority, given.status, given.due_at, given.first_due_at,
    given.attempts, given.token, given.created_at, given.last_attempt_at, CAST(given.last_error AS JSON) AS last_error
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue, unnest(CAST((SELECT
    CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key, unnest(CAST((SELECT
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS payload, unnest(CAST((SELECT
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS headers, unnest(CAST((SELECT
    CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS "group", unnest(CAST((SELECT
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority, unnest(CAST((SELECT
    CAST(CAST(:given_status::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS status, unnest(CAST((SELECT
    CAST(CAST(:given_due_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS
    due_at, unnest(CAST((SELECT CAST(CAST(:given_first_due_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS
    TIMESTAMP WITH TIME ZONE[])) AS first_due_at, unnest(CAST((SELECT CAST(CAST(:given_attempts::VARCHAR AS TEXT) AS
    INTEGER[])) AS INTEGER[])) AS attempts, unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[]))
    AS BIGINT[])) AS token, unnest(CAST((SELECT CAST(CAST(:given_created_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME
    ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS created_at, unnest(CAST((SELECT
    CAST(CAST(:given_last_attempt_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[]))
    AS last_attempt_at, unnest(CAST((SELECT CAST(CAST(:given_last_error::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS
    last_error) AS given
WHERE 1 = 1
ORDER BY given.queue, given.key, given.id
ON CONFLICT (queue, key)
WHERE key IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING duerow_message.id

-- statement: insert_grouped
-- Like `insert_keyless`, with some rows in groups; `behind`: another message of the group goes first.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT given.queue, given.key, given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', CASE WHEN given.behind THEN NULL ELSE coalesce(given.due,
    statement_timestamp() + (given.delay * INTERVAL '1 microsecond'), statement_timestamp()) END AS anon_1,
    coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'), statement_timestamp()) AS
    coalesce_1, 0, 0, statement_timestamp() AS statement_timestamp_1, CASE WHEN given.behind THEN coalesce(given.due,
    statement_timestamp() + (given.delay * INTERVAL '1 microsecond'), statement_timestamp()) ELSE NULL END AS anon_2
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue AS TEXT) AS TEXT[])) AS TEXT[])) AS queue, unnest(CAST((SELECT
    CAST(CAST(:given_key AS TEXT) AS TEXT[])) AS TEXT[])) AS key, unnest(CAST((SELECT CAST(CAST(:given_kind AS TEXT)
    AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT CAST(CAST(:given_payload AS TEXT) AS JSON[])) AS JSON[])) AS
    payload, unnest(CAST((SELECT CAST(CAST(:given_headers AS TEXT) AS JSON[])) AS JSON[])) AS headers,
    unnest(CAST((SELECT CAST(CAST(:given_group AS TEXT) AS TEXT[])) AS TEXT[])) AS "group", unnest(CAST((SELECT
    CAST(CAST(:given_priority AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority, unnest(CAST((SELECT
    CAST(CAST(:given_due AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS due,
    unnest(CAST((SELECT CAST(CAST(:given_delay AS TEXT) AS BIGINT[])) AS BIGINT[])) AS delay, unnest(CAST((SELECT
    CAST(CAST(:given_behind AS TEXT) AS BOOLEAN[])) AS BOOLEAN[])) AS behind) AS given
RETURNING duerow_message.id

-- statement: insert_keyless
-- Add messages without keys; return their ids, which ascend in the order of the input.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.queue, given.key, given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1
    microsecond'), statement_timestamp()) AS coalesce_1, coalesce(given.due, statement_timestamp() + (given.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) AS coalesce__1, 0, 0, statement_timestamp() AS
    statement_timestamp_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue AS TEXT) AS TEXT[])) AS TEXT[])) AS queue, unnest(CAST((SELECT
    CAST(CAST(:given_key AS TEXT) AS TEXT[])) AS TEXT[])) AS key, unnest(CAST((SELECT CAST(CAST(:given_kind AS TEXT)
    AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT CAST(CAST(:given_payload AS TEXT) AS JSON[])) AS JSON[])) AS
    payload, unnest(CAST((SELECT CAST(CAST(:given_headers AS TEXT) AS JSON[])) AS JSON[])) AS headers,
    unnest(CAST((SELECT CAST(CAST(:given_group AS TEXT) AS TEXT[])) AS TEXT[])) AS "group", unnest(CAST((SELECT
    CAST(CAST(:given_priority AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority, unnest(CAST((SELECT
    CAST(CAST(:given_due AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS due,
    unnest(CAST((SELECT CAST(CAST(:given_delay AS TEXT) AS BIGINT[])) AS BIGINT[])) AS delay) AS given
RETURNING duerow_message.id

-- statement: insert_keyless-plain
-- Add messages without keys; return their ids, which ascend in the order of the input.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.queue, given.key, given.kind, given.payload, CAST(NULL AS JSON) AS
    anon_1, given."group", given.priority, 'new', statement_timestamp() AS statement_timestamp_1,
    statement_timestamp() AS statement_timestamp__1, 0, 0, statement_timestamp() AS statement_timestamp__2
FROM (SELECT given_rows.payload AS payload, CAST(:given_queue::VARCHAR AS TEXT) AS queue, CAST(:given_key::VARCHAR AS
    TEXT) AS key, CAST(:given_kind::VARCHAR AS TEXT) AS kind, CAST(:given_group::VARCHAR AS TEXT) AS "group",
    CAST(:given_priority::SMALLINT AS SMALLINT) AS priority
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_payload AS TEXT) AS JSON[])) AS JSON[])) AS payload) AS given_rows)
    AS given
RETURNING duerow_message.id

-- statement: insert_many
-- Add messages with given ids, locking in key order; return the ids of messages whose key was free.
INSERT INTO duerow_message (id, queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.id, given.queue, given.key, given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1
    microsecond'), statement_timestamp()) AS coalesce_1, coalesce(given.due, statement_timestamp() + (given.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) AS coalesce__1, 0, 0, statement_timestamp() AS
    statement_timestamp_1
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id, unnest(CAST((SELECT
    CAST(CAST(:given_queue AS TEXT) AS TEXT[])) AS TEXT[])) AS queue, unnest(CAST((SELECT CAST(CAST(:given_key AS
    TEXT) AS TEXT[])) AS TEXT[])) AS key, unnest(CAST((SELECT CAST(CAST(:given_kind AS TEXT) AS TEXT[])) AS TEXT[]))
    AS kind, unnest(CAST((SELECT CAST(CAST(:given_payload AS TEXT) AS JSON[])) AS JSON[])) AS payload,
    unnest(CAST((SELECT CAST(CAST(:given_headers AS TEXT) AS JSON[])) AS JSON[])) AS headers, unnest(CAST((SELECT
    CAST(CAST(:given_group AS TEXT) AS TEXT[])) AS TEXT[])) AS "group", unnest(CAST((SELECT CAST(CAST(:given_priority
    AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority, unnest(CAST((SELECT CAST(CAST(:given_due AS TEXT) AS
    TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS due, unnest(CAST((SELECT CAST(CAST(:given_delay AS
    TEXT) AS BIGINT[])) AS BIGINT[])) AS delay) AS given
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

-- statement: insert_turns
-- Add finished turns unchanged.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, outcome, moved_to,
    attempts, created_at, first_due_at, due_at, started_at, finished_at, worker, error, until) SELECT given.id,
    given.token, given.queue, given.key, given.kind, given.payload, given.headers, given."group", given.priority,
    given.outcome, given.moved_to, given.attempts, given.created_at, given.first_due_at, given.due_at,
    given.started_at, given.finished_at, given.worker, CAST(given.error AS JSON) AS error, given.until
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue, unnest(CAST((SELECT
    CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key, unnest(CAST((SELECT
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS payload, unnest(CAST((SELECT
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS headers, unnest(CAST((SELECT
    CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS "group", unnest(CAST((SELECT
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority, unnest(CAST((SELECT
    CAST(CAST(:given_outcome::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS outcome, unnest(CAST((SELECT
    CAST(CAST(:given_moved_to::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS moved_to, unnest(CAST((SELECT
    CAST(CAST(:given_attempts::VARCHAR AS TEXT) AS INTEGER[])) AS INTEGER[])) AS attempts, unnest(CAST((SELECT
    CAST(CAST(:given_created_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS
    created_at, unnest(CAST((SELECT CAST(CAST(:given_first_due_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS
    TIMESTAMP WITH TIME ZONE[])) AS first_due_at, unnest(CAST((SELECT CAST(CAST(:given_due_at::VARCHAR AS TEXT) AS
    TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS due_at, unnest(CAST((SELECT
    CAST(CAST(:given_started_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS
    started_at, unnest(CAST((SELECT CAST(CAST(:given_finished_at::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS
    TIMESTAMP WITH TIME ZONE[])) AS finished_at, unnest(CAST((SELECT CAST(CAST(:given_worker::VARCHAR AS TEXT) AS
    TEXT[])) AS TEXT[])) AS worker, unnest(CAST((SELECT CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS
    TEXT[])) AS error, unnest(CAST((SELECT CAST(CAST(:given_until::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS
    TIMESTAMP WITH TIME ZONE[])) AS until) AS given

-- statement: next_ids
-- Return `count` new ids, ascending.
SELECT nextval('duerow_message_id_seq') AS next_value_1
FROM generate_series(:generate_series_1::INTEGER, (SELECT :count::INTEGER)) AS anon_1

-- statement: note
-- Note a name, and return it; return nothing if it is already noted, even by a concurrent commit.
INSERT INTO duerow_noted (name, noted_at)
VALUES (:name_in::VARCHAR, statement_timestamp())
ON CONFLICT (name) DO NOTHING
RETURNING duerow_noted.name

-- statement: note_staging
-- Note that a part of a batch stages entries; return the number of the staging.
INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, lines, due, staged_at)
VALUES (:batch_in::VARCHAR, :part_in::VARCHAR, :entries_in::INTEGER, :keyed_in, :grouped_in, CAST(:lines_in::VARCHAR
    AS JSON), :due_in::TIMESTAMP WITH TIME ZONE, statement_timestamp())
RETURNING duerow_staging.id

-- statement: noted_of
-- Read which of the given names are noted.
SELECT found.name
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_name::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS name) AS given
JOIN LATERAL (SELECT duerow_noted.name AS name
FROM duerow_noted
WHERE duerow_noted.name = given.name
LIMIT 1) AS found ON true

-- statement: old_notes
-- Lock and read the oldest names that were noted long ago.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.noted_at <= (statement_timestamp() + (:span::BIGINT * INTERVAL '1 microsecond'))
ORDER BY duerow_noted.noted_at
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED

-- statement: old_stagings
-- Lock the oldest expired stagings, and read their numbers and how many entries they have.
SELECT duerow_staging.id, duerow_staging.entries
FROM duerow_staging
WHERE duerow_staging.staged_at <= (statement_timestamp() + (:span::BIGINT * INTERVAL '1 microsecond'))
ORDER BY duerow_staging.staged_at
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED

-- statement: publish
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new',
    coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) AS coalesce_1, coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) AS coalesce__1, 0, 0, statement_timestamp() AS
    statement_timestamp_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT
ORDER BY duerow_staged.place

-- statement: publish-grouped
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new', CASE WHEN
    (duerow_staged."group" IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN NULL ELSE coalesce(duerow_staged.due, statement_timestamp() +
    (duerow_staged.delay * INTERVAL '1 microsecond'), statement_timestamp()) END AS anon_1,
    coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) AS coalesce_1, 0, 0, statement_timestamp() AS statement_timestamp_1, CASE WHEN
    (duerow_staged."group" IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) ELSE NULL END AS anon_2
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT
ORDER BY duerow_staged.place

-- statement: publish-keyed
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new',
    coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) AS coalesce_1, coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) AS coalesce__1, 0, 0, statement_timestamp() AS
    statement_timestamp_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT
ORDER BY duerow_staged.place
ON CONFLICT (queue, key)
WHERE key IS NOT NULL AND status IN ('new', 'error') DO NOTHING

-- statement: replace
-- Give messages that hold a key the content of a new push, and end their leases.
UPDATE duerow_message
SET kind=given.kind, payload=given.payload, headers=given.headers, "group"=given."group", priority=given.priority,
    status='new', due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()), behind_at=NULL, first_due_at=coalesce(given.due, statement_timestamp() + (given.delay *
    INTERVAL '1 microsecond'), statement_timestamp()), attempts=0, token=(duerow_message.token + 1), leased_by=NULL,
    leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS payload, unnest(CAST((SELECT
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS headers, unnest(CAST((SELECT
    CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS "group", unnest(CAST((SELECT
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority, unnest(CAST((SELECT
    CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS due,
    unnest(CAST((SELECT CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS delay) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id])

-- statement: stage
-- Keep entries until they are published.
INSERT INTO duerow_staged (staging_id, place, queue, key, kind, payload, headers, "group", priority, due, delay)
    SELECT given.staging_id, given.place, given.queue, given.key, given.kind, given.payload, given.headers,
    given."group", given.priority, given.due, given.delay
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_staging_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS
    staging_id, unnest(CAST((SELECT CAST(CAST(:given_place::VARCHAR AS TEXT) AS INTEGER[])) AS INTEGER[])) AS place,
    unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue, unnest(CAST((SELECT
    CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS key, unnest(CAST((SELECT
    CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS payload, unnest(CAST((SELECT
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS headers, unnest(CAST((SELECT
    CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS "group", unnest(CAST((SELECT
    CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority, unnest(CAST((SELECT
    CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME ZONE[])) AS due,
    unnest(CAST((SELECT CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS delay) AS given

-- statement: staged
-- Read the entries of a staging in their order, starting at a place.
SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind, CAST(duerow_staged.payload AS TEXT) AS payload,
    CAST(duerow_staged.headers AS TEXT) AS headers, duerow_staged."group", duerow_staged.priority, duerow_staged.due,
    duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT AND duerow_staged.place >= :place_in::INTEGER
ORDER BY duerow_staged.place
LIMIT :limit_in::INTEGER

-- statement: stagings
-- Read the stagings of a batch in order, and lock them against a concurrent publish or discard.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    CAST(duerow_staging.lines AS TEXT) AS lines, duerow_staging.due
FROM duerow_staging
WHERE duerow_staging.batch = :batch_in::VARCHAR
ORDER BY duerow_staging.id
FOR UPDATE
