-- statement: change-anew-due
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
UPDATE duerow_message
SET status='new', due_at=coalesce(given.due, :now + given.delay, :now), behind_at=NULL, attempts=0,
    token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL, last_attempt_at=NULL, last_error=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS due, json_extract(given_rows.value, '$[3]') AS delay
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue = :queue_in AND
    duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= :now)
RETURNING id

-- statement: change-headers-payload
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
UPDATE duerow_message
SET kind=given.kind, payload=given.payload, headers=given.headers, due_at=CASE WHEN (duerow_message.leased_until >
    :now) THEN :now ELSE duerow_message.due_at END, token=(duerow_message.token + 1), leased_by=NULL,
    leased_until=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS kind, json_extract(given_rows.value, '$[3]') AS payload,
    json_extract(given_rows.value, '$[4]') AS headers
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue = :queue_in AND
    duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= :now)
RETURNING id

-- statement: change-priority
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
UPDATE duerow_message
SET priority=given.priority, due_at=CASE WHEN (duerow_message.leased_until > :now) THEN :now ELSE
    duerow_message.due_at END, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token,
    json_extract(given_rows.value, '$[2]') AS priority
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue = :queue_in AND
    duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= :now)
RETURNING id

-- statement: change-stopped
-- Change rows whose token matches, leased ones only with `even_if_leased`; return their ids.
UPDATE duerow_message
SET due_at=NULL, behind_at=NULL, token=(duerow_message.token + 1), leased_by=NULL, leased_until=NULL
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id AND duerow_message.token = given.token AND duerow_message.queue = :queue_in AND
    duerow_message.status != 'done' AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= :now)
RETURNING id

-- statement: changeable
-- Read the ids of the rows that `change` would change.
SELECT duerow_message.id
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS token
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = :queue_in AND duerow_message.status != 'done' AND (:even_if_leased = 1 OR
    duerow_message.leased_until IS NULL OR duerow_message.leased_until <= :now)

-- statement: purge
-- Delete some messages of a queue in any state, finding each kind by its own index; return their ids.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT some.id
FROM (SELECT anon_1.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NULL AND
    duerow_message.id <= :last_in
LIMIT :limit_in OFFSET :param_1) AS anon_1 UNION ALL SELECT anon_2.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message."group" IS NOT NULL AND duerow_message.status IN ('new',
    'error') AND duerow_message.id <= :last_in
LIMIT :limit_in OFFSET :param_2) AS anon_2 UNION ALL SELECT anon_3.id AS id
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL AND
    duerow_message.id <= :last_in
LIMIT :limit_in OFFSET :param_3) AS anon_3) AS some
LIMIT :limit_in OFFSET :param_4)
RETURNING id

-- statement: remove
-- Delete the given rows, leased ones only with `even_if_leased`; return their ids.
DELETE
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND (:even_if_leased = 1 OR duerow_message.leased_until IS NULL OR
    duerow_message.leased_until <= :now) AND duerow_message.id IN (SELECT given.id
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given)
RETURNING id

-- statement: savepoint
-- Set the savepoint to which `to_savepoint` goes back.
SAVEPOINT duerow_row

-- statement: set_aside
-- Bury rows, leased or not, and write nothing else; return their ids, keys, attempts and groups.
UPDATE duerow_message
SET status='dead', due_at=NULL, behind_at=NULL, token=CASE WHEN (duerow_message.token < 9223372036854775807) THEN
    duerow_message.token + 1 ELSE 0 END, leased_by=NULL, leased_until=NULL, last_error=given.error
FROM (SELECT json_extract(given_rows.value, '$[0]') AS id, json_extract(given_rows.value, '$[1]') AS error
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id
RETURNING id, "key", attempts, "group"

-- statement: to_savepoint
-- Undo everything since `savepoint`.
ROLLBACK TO SAVEPOINT duerow_row
