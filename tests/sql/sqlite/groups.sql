-- statement: blockers
-- Read the ids that hold back rows of groups: a row with a lower id, and a leased row; null if there
-- is none.
SELECT duerow_message.id, duerow_message.leased_by IS NOT NULL AS anon_1, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.status IN ('new',
    'error') AND other.id < duerow_message.id
ORDER BY other.id
LIMIT 1 OFFSET :param_1) AS anon_2, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id
LIMIT 1 OFFSET :param_2) AS anon_3, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.status IN ('new',
    'error') AND other.id < duerow_message.id
ORDER BY other.id
LIMIT 1 OFFSET :param_3) AS anon_4, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id
LIMIT 1 OFFSET :param_4) AS anon_5
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
JOIN duerow_message ON duerow_message.id = given.id

-- statement: promote_next
-- Put the first unleased row of each given group in line; return the queues and due times.
UPDATE duerow_message
SET due_at=coalesce(duerow_message.behind_at, duerow_message.due_at), behind_at=NULL
WHERE duerow_message.id IN (SELECT (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other."group" = given."group" AND other.status IN ('new', 'error') AND
    other.leased_by IS NULL
ORDER BY other.id
LIMIT 1 OFFSET :param_1) AS id
FROM (SELECT json_extract(given_rows.value, '$[0]') AS queue, json_extract(given_rows.value, '$[1]') AS "group"
FROM json_each(:given) AS given_rows) AS given) AND duerow_message.leased_by IS NULL
RETURNING queue, due_at

-- statement: promote_next-of_shared
-- Put the first unleased row of each given group in line; return the queues and due times.
UPDATE duerow_message
SET due_at=coalesce(duerow_message.behind_at, duerow_message.due_at), behind_at=NULL
WHERE duerow_message.id IN (SELECT (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other."group" = given."group" AND other.status IN ('new', 'error') AND
    other.leased_by IS NULL
ORDER BY other.id
LIMIT 1 OFFSET :param_1) AS id
FROM (SELECT given_rows.value AS "group", :given_queue AS queue
FROM json_each(:given) AS given_rows) AS given) AND duerow_message.leased_by IS NULL
RETURNING queue, due_at

-- statement: put_behind
-- Take rows of groups out of line until it is their turn; this ends expired turns.
UPDATE duerow_message
SET due_at=NULL, behind_at=duerow_message.due_at, token=(duerow_message.token + CASE WHEN (duerow_message.leased_until
    IS NOT NULL) THEN 1 ELSE 0 END), leased_by=NULL, leased_until=NULL, last_error=CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN json_object('message', CAST('was in hand when its worker died:
    lease of ' AS TEXT) || duerow_message.leased_by || ' ended at ' || strftime('%Y-%m-%d %H:%M:%S',
    duerow_message.leased_until / 1000000, 'unixepoch') || ' UTC, attempt ' || CAST(duerow_message.attempts AS TEXT)
    || ' of ' || coalesce(CAST(:attempts_in AS TEXT), 'any number'), 'traceback', NULL, 'type', 'LeaseEnded') ELSE
    duerow_message.last_error END
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id

-- statement: take_turns
-- Mark rows of groups that are about to be popped as leased, so that no other row of the group is
-- leased.
UPDATE duerow_message
SET leased_by='taken away'
FROM (SELECT given_rows.value AS id
FROM json_each(:given) AS given_rows) AS given
WHERE duerow_message.id = given.id
