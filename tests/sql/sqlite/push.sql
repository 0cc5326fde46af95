-- statement: hasten
-- Move the due time of unleased held messages forward to a given time; return the changed ones.
UPDATE duerow_message
SET due_at=coalesce(given.due, :now + given.delay, :now), behind_at=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS due,
    json_extract(given_rows.value, '$[2]') AS delay
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.leased_by IS NULL AND coalesce(duerow_message.due_at,
    duerow_message.behind_at) > coalesce(given.due, :now + given.delay, :now)
RETURNING id

-- statement: holder_ids
-- Read the ids of the live messages that hold the given keys.
SELECT duerow_message.queue, duerow_message."key", duerow_message.id
FROM duerow_message
WHERE (duerow_message.queue, duerow_message."key") IN (SELECT given.queue, given."key"
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key"
FROM json_each(:given) AS given_rows) AS given) AND duerow_message."key" IS NOT NULL AND duerow_message.status IN
    ('new', 'error')

-- statement: holders
-- Read the live messages that hold the given keys, and lock them in order if the database can.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE (duerow_message.queue, duerow_message."key") IN (SELECT given.queue, given."key"
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key"
FROM json_each(:given) AS given_rows) AS given) AND duerow_message."key" IS NOT NULL AND duerow_message.status IN
    ('new', 'error')

-- statement: insert_grouped
-- Like insert_keyless, if some rows are in groups; `behind`: another message of the group goes first.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT given.queue, given."key", given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', CASE WHEN given.behind THEN NULL ELSE coalesce(given.due, :now +
    given.delay, :now) END AS anon_1, coalesce(given.due, :now + given.delay, :now) AS coalesce_1, 0, 0, :now AS
    anon_2, CASE WHEN given.behind THEN coalesce(given.due, :now + given.delay, :now) ELSE NULL END AS anon_3
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key",
    json_extract(given_rows.value, '$[2]') AS kind, json_extract(given_rows.value, '$[3]') AS payload,
    json_extract(given_rows.value, '$[4]') AS headers, json_extract(given_rows.value, '$[5]') AS "group",
    json_extract(given_rows.value, '$[6]') AS priority, json_extract(given_rows.value, '$[7]') AS due,
    json_extract(given_rows.value, '$[8]') AS delay, json_extract(given_rows.value, '$[9]') AS behind
FROM json_each(:given) AS given_rows) AS given
RETURNING id

-- statement: insert_keyless
-- Add messages without keys; return their ids, which follow the order given.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.queue, given."key", given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', coalesce(given.due, :now + given.delay, :now) AS coalesce_1,
    coalesce(given.due, :now + given.delay, :now) AS coalesce__1, 0, 0, :now AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "key",
    json_extract(given_rows.value, '$[2]') AS kind, json_extract(given_rows.value, '$[3]') AS payload,
    json_extract(given_rows.value, '$[4]') AS headers, json_extract(given_rows.value, '$[5]') AS "group",
    json_extract(given_rows.value, '$[6]') AS priority, json_extract(given_rows.value, '$[7]') AS due,
    json_extract(given_rows.value, '$[8]') AS delay
FROM json_each(:given) AS given_rows) AS given
RETURNING id

-- statement: insert_keyless-plain
-- Add messages without keys; return their ids, which follow the order given.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.queue, given."key", given.kind, given.payload, NULL AS anon_1,
    given."group", given.priority, 'new', :now AS anon_2, :now AS anon__1, 0, 0, :now AS anon__2
FROM (SELECT given_rows.value AS payload, :given_queue AS queue, :given_key AS "key", :given_kind AS kind,
    :given_group AS "group", :given_priority AS priority
FROM json_each(:given) AS given_rows) AS given
RETURNING id

-- statement: insert_many
-- Add messages with given ids; return the ids of those whose key was free. Locks in key order.
INSERT INTO duerow_message (id, queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.id, given.queue, given."key", given.kind, given.payload, given.headers,
    given."group", given.priority, 'new', coalesce(given.due, :now + given.delay, :now) AS coalesce_1,
    coalesce(given.due, :now + given.delay, :now) AS coalesce__1, 0, 0, :now AS anon_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS queue,
    json_extract(given_rows.value, '$[2]') AS "key", json_extract(given_rows.value, '$[3]') AS kind,
    json_extract(given_rows.value, '$[4]') AS payload, json_extract(given_rows.value, '$[5]') AS headers,
    json_extract(given_rows.value, '$[6]') AS "group", json_extract(given_rows.value, '$[7]') AS priority,
    json_extract(given_rows.value, '$[8]') AS due, json_extract(given_rows.value, '$[9]') AS delay
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given."key", given.id
ON CONFLICT (queue, "key")
WHERE "key" IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING id

-- statement: insert_one
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at)
VALUES (:queue_in, NULL, :kind_in, :payload_in, NULL, NULL, 0, 'new', :now, :now, 0, 0, :now)
RETURNING id

-- statement: insert_one-asking
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT CAST(:queue_in AS TEXT) AS anon_1, CAST(:key_in AS TEXT) AS anon_2,
    CAST(:kind_in AS TEXT) AS anon_3, CAST(:payload_in AS TEXT) AS anon_4, NULL AS anon_5, NULL AS anon__1, 0, 'new',
    :now AS anon_6, :now AS anon__2, 0, 0, :now AS anon__3
WHERE NOT (EXISTS (SELECT *
FROM duerow_queue
WHERE duerow_queue.name = :queue_in AND duerow_queue.draining = 1))
ON CONFLICT (queue, "key")
WHERE "key" IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING id

-- statement: insert_one-delay-due-headers-key
-- Add one message and return its id, or nothing if its key is held; wake sleeping consumers.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at)
VALUES (:queue_in, :key_in, :kind_in, :payload_in, :headers_in, NULL, 0, 'new', coalesce(:due_in, :now + :delay_in,
    :now), coalesce(:due_in, :now + :delay_in, :now), 0, 0, :now)
ON CONFLICT (queue, "key")
WHERE "key" IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING id

-- statement: next_ids
-- Return `count` new ids, ascending.
WITH RECURSIVE numbers(n) AS (SELECT :param_1 AS n
WHERE :count > :param_2 UNION ALL SELECT numbers.n + :n_1 AS anon_2
FROM numbers
WHERE numbers.n < :count) SELECT (SELECT coalesce(max(sqlite_sequence.seq), :coalesce_2) AS coalesce_1
FROM sqlite_sequence
WHERE sqlite_sequence.name = :name_1) + numbers.n AS anon_1
FROM numbers

-- statement: replace
-- Give held messages the content of a new push; a lease on them ends.
UPDATE duerow_message
SET kind=given.kind, payload=given.payload, headers=given.headers, "group"=given."group", priority=given.priority,
    status='new', due_at=coalesce(given.due, :now + given.delay, :now), behind_at=NULL,
    first_due_at=coalesce(given.due, :now + given.delay, :now), attempts=0, token=(duerow_message.token + 1),
    leased_by=NULL, leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS kind,
    json_extract(given_rows.value, '$[2]') AS payload, json_extract(given_rows.value, '$[3]') AS headers,
    json_extract(given_rows.value, '$[4]') AS "group", json_extract(given_rows.value, '$[5]') AS priority,
    json_extract(given_rows.value, '$[6]') AS due, json_extract(given_rows.value, '$[7]') AS delay
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id
