-- statement: blockers
-- Read the ids that hold back rows of groups: a row with a lower id, and a leased row; null if there
-- is none.
SELECT duerow_message.id, duerow_message.leased_by IS NOT NULL AS anon_1, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" >= duerow_message."group" AND other."group" <=
    duerow_message."group" AND other.status IN ('new', 'error') AND other.id < duerow_message.id
ORDER BY other."group", other.id
LIMIT 1) AS anon_2, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id
LIMIT 1) AS anon_3, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" >= duerow_message."group" AND other."group" <=
    duerow_message."group" AND other.status IN ('new', 'error') AND other.id < duerow_message.id
ORDER BY other."group", other.id
LIMIT 1 FOR SHARE SKIP LOCKED) AS anon_4, (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id
LIMIT 1 FOR SHARE SKIP LOCKED) AS anon_5
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[])) AS id) AS given
JOIN duerow_message ON duerow_message.id = ANY (ARRAY[given.id])

-- statement: promote_next
-- Put the first unleased row of each given group in line; return the queues and due times.
UPDATE duerow_message
SET due_at=coalesce(duerow_message.behind_at, duerow_message.due_at), behind_at=NULL
WHERE duerow_message.id = ANY (array((SELECT (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other."group" >= given."group" AND other."group" <= given."group" AND other.status
    IN ('new', 'error') AND other.leased_by IS NULL
ORDER BY other."group", other.id
LIMIT 1
FOR UPDATE) AS id
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS queue,
    unnest(CAST((SELECT CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS "group") AS given))) AND
    duerow_message.leased_by IS NULL
RETURNING duerow_message.queue, duerow_message.due_at

-- statement: promote_next-of_shared
-- Put the first unleased row of each given group in line; return the queues and due times.
UPDATE duerow_message
SET due_at=coalesce(duerow_message.behind_at, duerow_message.due_at), behind_at=NULL
WHERE duerow_message.id = ANY (array((SELECT (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other."group" >= given."group" AND other."group" <= given."group" AND other.status
    IN ('new', 'error') AND other.leased_by IS NULL
ORDER BY other."group", other.id
LIMIT 1
FOR UPDATE) AS id
FROM (SELECT given_rows."group" AS "group", CAST(:given_queue::VARCHAR AS TEXT) AS queue
FROM (SELECT unnest(CAST((SELECT CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[])) AS TEXT[])) AS "group") AS
    given_rows) AS given))) AND duerow_message.leased_by IS NULL
RETURNING duerow_message.queue, duerow_message.due_at

-- statement: put_behind
-- Take rows of groups out of line until it is their turn; this ends expired turns.
UPDATE duerow_message
SET due_at=NULL, behind_at=duerow_message.due_at, token=(duerow_message.token + CASE WHEN (duerow_message.leased_until
    IS NOT NULL) THEN 1 ELSE 0 END), leased_by=NULL, leased_until=NULL, last_error=CASE WHEN
    (duerow_message.leased_until IS NOT NULL) THEN CAST(concat('{"message":', to_json(concat('was in hand when its
    worker died: lease of ', duerow_message.leased_by, ' ended at ', to_char(timezone('UTC',
    duerow_message.leased_until), 'YYYY-MM-DD HH24:MI:SS'), ' UTC, attempt ', duerow_message.attempts, ' of ',
    coalesce(CAST(:attempts_in::INTEGER AS TEXT), 'any number'))), ',"traceback":null,"type":"LeaseEnded"}') AS JSON)
    ELSE duerow_message.last_error END
WHERE duerow_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[]))

-- statement: take_turns
-- Mark rows of groups that are about to be popped as leased, so that no other row of the group is
-- leased.
UPDATE duerow_message
SET leased_by='taken away'
WHERE duerow_message.id = ANY (CAST((SELECT CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS BIGINT[]))
