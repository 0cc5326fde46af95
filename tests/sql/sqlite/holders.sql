-- Read the live messages that hold the given keys, locked in their order against changes where rows
-- can be.
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
