-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at)
VALUES (:queue_in::VARCHAR, NULL, :kind_in::VARCHAR, CAST(:payload_in::VARCHAR AS JSON), CAST(NULL AS JSON), NULL, 0,
    'new', statement_timestamp(), statement_timestamp(), 0, 0, statement_timestamp())
RETURNING duerow_message.id, (SELECT pg_notify('duerow_wake', duerow_waiting.queue) AS pg_notify_1
FROM duerow_waiting
WHERE duerow_waiting.queue = :queue_in::VARCHAR AND duerow_waiting.until > statement_timestamp()) AS anon_1
