-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT CAST(:queue_in::VARCHAR AS TEXT) AS anon_2, CAST(:key_in::VARCHAR AS TEXT) AS
    anon_3, CAST(:kind_in::VARCHAR AS TEXT) AS anon_4, CAST(CAST(:payload_in::VARCHAR AS TEXT) AS JSON) AS anon_5,
    CAST(NULL AS JSON) AS anon_6, NULL AS anon__1, 0, 'new', statement_timestamp() AS statement_timestamp_1,
    statement_timestamp() AS statement_timestamp__1, 0, 0, statement_timestamp() AS statement_timestamp__2
WHERE NOT (EXISTS (SELECT *
FROM duerow_queue
WHERE duerow_queue.name = :queue_in::VARCHAR AND duerow_queue.draining))
ON CONFLICT (queue, key)
WHERE key IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING duerow_message.id, (SELECT pg_notify('duerow_wake', duerow_waiting.queue) AS pg_notify_1
FROM duerow_waiting
WHERE duerow_waiting.queue = :queue_in::VARCHAR AND duerow_waiting.until > statement_timestamp()) AS anon_1
