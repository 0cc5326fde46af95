-- statement: change-anew-due
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
UPDATE duerow_message
SET status='new', due_at=coalesce(given.due, statement_timestamp() + (given.delay * INTERVAL '1 microsecond'),
    statement_timestamp()), behind_at=NULL, attempts=0, token=(duerow_message.token + 1), leased_by=NULL,
    leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_due::VARCHAR AS TEXT) AS TIMESTAMP WITH TIME ZONE[])) AS TIMESTAMP WITH TIME
    ZONE[])) AS due, unnest(CAST((SELECT CAST(CAST(:given_delay::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS
    delay) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END AND duerow_message.queue = :queue_in::VARCHAR AND duerow_message.status != 'done' AND (:even_if_leased
    OR duerow_message.leased_until IS NULL OR duerow_message.leased_until <= statement_timestamp())
RETURNING duerow_message.id

-- statement: change-headers-payload
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
UPDATE duerow_message
SET kind=given.kind, payload=given.payload, headers=given.headers, due_at=CASE WHEN (duerow_message.leased_until >
    statement_timestamp()) THEN statement_timestamp() ELSE duerow_message.due_at END, token=(duerow_message.token +
    1), leased_by=NULL, leased_until=NULL
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_kind::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS kind, unnest(CAST((SELECT
    CAST(CAST(:given_payload::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS payload, unnest(CAST((SELECT
    CAST(CAST(:given_headers::VARCHAR AS TEXT) AS JSON[])) AS JSON[])) AS headers) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END AND duerow_message.queue = :queue_in::VARCHAR AND duerow_message.status != 'done' AND (:even_if_leased
    OR duerow_message.leased_until IS NULL OR duerow_message.leased_until <= statement_timestamp())
RETURNING duerow_message.id

-- statement: change-priority
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
UPDATE duerow_message
SET priority=given.priority, due_at=CASE WHEN (duerow_message.leased_until > statement_timestamp()) THEN
    statement_timestamp() ELSE duerow_message.due_at END, token=(duerow_message.token + 1), leased_by=NULL,
    leased_until=NULL
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token,
    unnest(CAST((SELECT CAST(CAST(:given_priority::VARCHAR AS TEXT) AS SMALLINT[])) AS SMALLINT[])) AS priority) AS
    given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END AND duerow_message.queue = :queue_in::VARCHAR AND duerow_message.status != 'done' AND (:even_if_leased
    OR duerow_message.leased_until IS NULL OR duerow_message.leased_until <= statement_timestamp())
RETURNING duerow_message.id

-- statement: change-stopped
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
UPDATE duerow_message
SET due_at=NULL, behind_at=NULL, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token) THEN true ELSE
    false END AND duerow_message.queue = :queue_in::VARCHAR AND duerow_message.status != 'done' AND (:even_if_leased
    OR duerow_message.leased_until IS NULL OR duerow_message.leased_until <= statement_timestamp())
RETURNING duerow_message.id

-- statement: changeable
-- Read the ids of the rows that `change` would change.
SELECT duerow_message.id
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_token::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS token) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id]) AND CASE WHEN (duerow_message.token = given.token)
    THEN true ELSE false END
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.status != 'done' AND (:even_if_leased OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= statement_timestamp())

-- statement: check_constraints
-- Check deferred constraints now, if the database has any.
SET CONSTRAINTS ALL IMMEDIATE

-- statement: purge
-- Delete some messages of a queue in any state, finding each kind by its own index; return their ids.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT "some".id
FROM (SELECT anon_1.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS
    NULL AND duerow_message.id <= :last_in::BIGINT
LIMIT :limit_in::INTEGER) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.id <= :last_in::BIGINT
LIMIT :limit_in::INTEGER) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
    AND duerow_message.id <= :last_in::BIGINT
LIMIT :limit_in::INTEGER) AS anon_3) AS "some"
LIMIT :limit_in::INTEGER)
RETURNING duerow_message.id

-- statement: remove
-- Delete the given rows, leased ones only with `even_if_leased`; return their ids.
DELETE
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND (:even_if_leased OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= statement_timestamp()) AND duerow_message.id = ANY (CAST((SELECT
    CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[]))
RETURNING duerow_message.id

-- statement: savepoint
-- Set the savepoint to which `to_savepoint` goes back.
SAVEPOINT duerow_row

-- statement: set_aside
-- Bury rows, leased or not, and write nothing else; return their ids, keys, attempts and groups.
UPDATE duerow_message
SET status='dead', due_at=NULL, behind_at=NULL, token=CASE WHEN (duerow_message.token < 9223372036854775807) THEN
    duerow_message.token + 1 ELSE 0 END, leased_by=NULL, leased_until=NULL, last_error=CAST(given.error AS JSON)
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id,
    unnest(CAST((SELECT CAST(CAST(:given_error::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS error) AS given
WHERE duerow_message.id = ANY (ARRAY[given.id])
RETURNING duerow_message.id, duerow_message.key, duerow_message.attempts, duerow_message."group"

-- statement: to_savepoint
-- Undo everything since `savepoint`.
ROLLBACK TO SAVEPOINT duerow_row
