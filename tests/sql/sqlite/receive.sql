-- statement: insert_arrived
-- Add messages as they were, with given ids; return the ids of those whose key was free.
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

-- statement: insert_turns
-- Add finished turns as they were.
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

-- statement: noted_of
-- Read which of the given names are recorded.
SELECT duerow_noted.name
FROM duerow_noted
WHERE (duerow_noted.name) IN (SELECT given.name
FROM (SELECT given_rows.value AS name
FROM json_each(:given) AS given_rows) AS given)
