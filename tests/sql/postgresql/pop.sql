-- Take the oldest due rows away; each comes with the oldest due time, as in `reserve`, and with the
-- time.
DELETE
FROM duerow_message
WHERE duerow_message.id = ANY (array((SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at <= statement_timestamp()
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER
FOR UPDATE SKIP LOCKED)))
RETURNING duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload,
    duerow_message.kind, duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message.status,
    duerow_message.due_at, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token,
    duerow_message.leased_by, duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error, statement_timestamp() AS statement_timestamp_1, (SELECT
    min(duerow_message.due_at) AS min_1
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at <= statement_timestamp()) AS anon_1
