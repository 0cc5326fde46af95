-- Read the live messages that hold the given keys, locked against changes where rows can be.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_key::VARCHAR AS TEXT) AS TEXT[])) AS
    given(queue, key)
JOIN duerow_message ON duerow_message.queue = given.queue AND duerow_message.key = given.key
WHERE duerow_message.key IS NOT NULL AND duerow_message.status IN ('new', 'error')
ORDER BY duerow_message.queue, duerow_message.key
FOR UPDATE OF duerow_message
