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

-- statement: commit
-- Delete the rows whose token matches; return their receipts.
DELETE
FROM duerow_message
WHERE (duerow_message.id, duerow_message.token) IN (SELECT given.id, given.token
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
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
-- Read the rows whose token matches, locked against changes where rows can be.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message."key", duerow_message.headers AS headers, duerow_message."group", duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token

-- statement: release
-- Give rows whose token matches their place in line and their attempt back; return their receipts.
UPDATE duerow_message
SET due_at=coalesce(given.due, duerow_message.place_at, duerow_message.first_due_at),
    attempts=(duerow_message.attempts - 1), token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS due
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
