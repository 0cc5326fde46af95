-- statement: forget_notes
-- Delete names; return them.
DELETE
FROM duerow_noted
WHERE duerow_noted.name IN (SELECT given.name
FROM (SELECT given_rows.value AS name
FROM json_each(:given) AS given_rows) AS given)
RETURNING name

-- statement: forget_staged
-- Delete the entries of the given stagings.
DELETE
FROM duerow_staged
WHERE duerow_staged.staging_id IN (SELECT given.staging_id
FROM (SELECT given_rows.value AS staging_id
FROM json_each(:given) AS given_rows) AS given)

-- statement: forget_stagings
-- Delete the given stagings.
DELETE
FROM duerow_staging
WHERE duerow_staging.id IN (SELECT given.id
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given)

-- statement: hasten
-- Make unleased messages that hold a key due earlier, at a given time; return the changed ones.
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

-- statement: insert_arrived
-- Add messages in their former state, with given ids; return the ids of messages whose key was free.
INSERT INTO duerow_message (id, queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, last_attempt_at, last_error) SELECT given.id, given.queue, given."key", given.kind,
    given.payload, given.headers, given."group", given.priority, given.status, given.due_at, given.first_due_at,
    given.attempts, given.token, given.created_at, given.last_attempt_at, given.last_error
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS queue,
    json_extract(given_rows.value, '$[2]') AS "key", json_extract(given_rows.value, '$[3]') AS kind,
    json_extract(given_rows.value, '$[4]') AS payload, json_extract(given_rows.value, '$[5]') AS headers,
    json_extract(given_rows.value, '$[6]') AS "group", json_extract(given_rows.value, '$[7]') AS priority,
    json_extract(given_rows.value, '$[8]') AS status, json_extract(given_rows.value, '$[9]') AS due_at,
    json_extract(given_rows.value, '$[10]') AS first_due_at, json_extract(given_rows.value, '$[11]') AS attempts,
    json_extract(given_rows.value, '$[12]') AS token, json_extract(given_rows.value, '$[13]') AS created_at,
    json_extract(given_rows.value, '$[14]') AS last_attempt_at, json_extract(given_rows.value, '$[15]') AS last_error
FROM json_each(:given) AS given_rows) AS given
WHERE 1 = 1
ORDER BY given.queue, given."key", given.id
ON CONFLICT (queue, "key")
WHERE "key" IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING id

-- statement: insert_grouped
-- Like `insert_keyless`, with some rows in groups; `behind`: another message of the group goes first.
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
-- Add messages without keys; return their ids, which ascend in the order of the input.
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
-- Add messages without keys; return their ids, which ascend in the order of the input.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT given.queue, given."key", given.kind, given.payload, NULL AS anon_1,
    given."group", given.priority, 'new', :now AS anon_2, :now AS anon__1, 0, 0, :now AS anon__2
FROM (SELECT given_rows.value AS payload, :given_queue AS queue, :given_key AS "key", :given_kind AS kind,
    :given_group AS "group", :given_priority AS priority
FROM json_each(:given) AS given_rows) AS given
RETURNING id

-- statement: insert_many
-- Add messages with given ids, locking in key order; return the ids of messages whose key was free.
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

-- statement: insert_turns
-- Add finished turns unchanged.
INSERT INTO duerow_history (id, token, queue, "key", kind, payload, headers, "group", priority, outcome, moved_to,
    attempts, created_at, first_due_at, due_at, started_at, finished_at, worker, error, until) SELECT given.id,
    given.token, given.queue, given."key", given.kind, given.payload, given.headers, given."group", given.priority,
    given.outcome, given.moved_to, given.attempts, given.created_at, given.first_due_at, given.due_at,
    given.started_at, given.finished_at, given.worker, given.error, given.until
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS queue, json_extract(given_rows.value, '$[3]') AS "key",
    json_extract(given_rows.value, '$[4]') AS kind, json_extract(given_rows.value, '$[5]') AS payload,
    json_extract(given_rows.value, '$[6]') AS headers, json_extract(given_rows.value, '$[7]') AS "group",
    json_extract(given_rows.value, '$[8]') AS priority, json_extract(given_rows.value, '$[9]') AS outcome,
    json_extract(given_rows.value, '$[10]') AS moved_to, json_extract(given_rows.value, '$[11]') AS attempts,
    json_extract(given_rows.value, '$[12]') AS created_at, json_extract(given_rows.value, '$[13]') AS first_due_at,
    json_extract(given_rows.value, '$[14]') AS due_at, json_extract(given_rows.value, '$[15]') AS started_at,
    json_extract(given_rows.value, '$[16]') AS finished_at, json_extract(given_rows.value, '$[17]') AS worker,
    json_extract(given_rows.value, '$[18]') AS error, json_extract(given_rows.value, '$[19]') AS until
FROM json_each(:given) AS given_rows) AS given

-- statement: next_ids
-- Return `count` new ids, ascending.
WITH RECURSIVE numbers(n) AS (SELECT :param_1 AS n
WHERE :count > :param_2 UNION ALL SELECT numbers.n + :n_1 AS anon_2
FROM numbers
WHERE numbers.n < :count) SELECT (SELECT coalesce(max(sqlite_sequence.seq), :coalesce_2) AS coalesce_1
FROM sqlite_sequence
WHERE sqlite_sequence.name = :name_1) + numbers.n AS anon_1
FROM numbers

-- statement: note
-- Note a name, and return it; return nothing if it is already noted, even by a concurrent commit.
INSERT INTO duerow_noted (name, noted_at)
VALUES (:name_in, :now)
ON CONFLICT (name) DO NOTHING
RETURNING name

-- statement: note_staging
-- Note that a part of a batch stages entries; return the number of the staging.
INSERT INTO duerow_staging (batch, part, entries, keyed, grouped, lines, due, staged_at)
VALUES (:batch_in, :part_in, :entries_in, :keyed_in, :grouped_in, :lines_in, :due_in, :now)
RETURNING id

-- statement: noted_of
-- Read which of the given names are noted.
SELECT duerow_noted.name
FROM duerow_noted
WHERE (duerow_noted.name) IN (SELECT given.name
FROM (SELECT given_rows.value AS name
FROM json_each(:given) AS given_rows) AS given)

-- statement: old_notes
-- Lock and read the oldest names that were noted long ago.
SELECT duerow_noted.name
FROM duerow_noted
WHERE duerow_noted.noted_at <= :now + :span
ORDER BY duerow_noted.noted_at
LIMIT :limit_in OFFSET :param_1

-- statement: old_stagings
-- Lock the oldest expired stagings, and read their numbers and how many entries they have.
SELECT duerow_staging.id, duerow_staging.entries
FROM duerow_staging
WHERE duerow_staging.staged_at <= :now + :span
ORDER BY duerow_staging.staged_at
LIMIT :limit_in OFFSET :param_1

-- statement: publish
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged."key", duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new',
    coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) AS coalesce_1, coalesce(duerow_staged.due, :now +
    duerow_staged.delay, :now) AS coalesce__1, 0, 0, :now AS anon_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place

-- statement: publish-grouped
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT duerow_staged.queue, duerow_staged."key", duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new', CASE WHEN
    (duerow_staged."group" IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN NULL ELSE coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) END AS
    anon_1, coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) AS coalesce_1, 0, 0, :now AS anon_2, CASE
    WHEN (duerow_staged."group" IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue,
    duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) ELSE NULL END AS
    anon_3
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place

-- statement: publish-keyed
-- Push the entries of a staging, in their order; with `keyed`, skip entries whose key is held.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged."key", duerow_staged.kind,
    duerow_staged.payload, duerow_staged.headers, duerow_staged."group", duerow_staged.priority, 'new',
    coalesce(duerow_staged.due, :now + duerow_staged.delay, :now) AS coalesce_1, coalesce(duerow_staged.due, :now +
    duerow_staged.delay, :now) AS coalesce__1, 0, 0, :now AS anon_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in
ORDER BY duerow_staged.place
ON CONFLICT (queue, "key")
WHERE "key" IS NOT NULL AND status IN ('new', 'error') DO NOTHING

-- statement: replace
-- Give messages that hold a key the content of a new push, and end their leases.
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

-- statement: stage
-- Keep entries until they are published.
INSERT INTO duerow_staged (staging_id, place, queue, "key", kind, payload, headers, "group", priority, due, delay)
    SELECT given.staging_id, given.place, given.queue, given."key", given.kind, given.payload, given.headers,
    given."group", given.priority, given.due, given.delay
FROM (SELECT json_extract(given_rows.value, '$[0]') AS staging_id, json_extract(given_rows.value, '$[1]') AS place,
    json_extract(given_rows.value, '$[2]') AS queue, json_extract(given_rows.value, '$[3]') AS "key",
    json_extract(given_rows.value, '$[4]') AS kind, json_extract(given_rows.value, '$[5]') AS payload,
    json_extract(given_rows.value, '$[6]') AS headers, json_extract(given_rows.value, '$[7]') AS "group",
    json_extract(given_rows.value, '$[8]') AS priority, json_extract(given_rows.value, '$[9]') AS due,
    json_extract(given_rows.value, '$[10]') AS delay
FROM json_each(:given) AS given_rows) AS given

-- statement: staged
-- Read the entries of a staging in their order, starting at a place.
SELECT duerow_staged.queue, duerow_staged."key", duerow_staged.kind, duerow_staged.payload AS payload,
    duerow_staged.headers AS headers, duerow_staged."group", duerow_staged.priority, duerow_staged.due,
    duerow_staged.delay
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in AND duerow_staged.place >= :place_in
ORDER BY duerow_staged.place
LIMIT :limit_in OFFSET :param_1

-- statement: stagings
-- Read the stagings of a batch in order, and lock them against a concurrent publish or discard.
SELECT duerow_staging.id, duerow_staging.part, duerow_staging.entries, duerow_staging.keyed, duerow_staging.grouped,
    duerow_staging.lines AS lines, duerow_staging.due
FROM duerow_staging
WHERE duerow_staging.batch = :batch_in
ORDER BY duerow_staging.id
