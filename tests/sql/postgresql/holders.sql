-- Read the live messages that hold the given keys, locked in their order against changes where rows
-- can be.
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
