-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT CAST(:queue_in AS TEXT) AS anon_1, CAST(:key_in AS TEXT) AS anon_2,
    CAST(:kind_in AS TEXT) AS anon_3, CAST(:payload_in AS TEXT) AS anon_4, NULL AS anon_5, NULL AS anon__1, 0, 'new',
    :now AS anon_6, :now AS anon__2, 0, 0, :now AS anon__3
WHERE NOT (EXISTS (SELECT *
FROM duerow_queue
WHERE duerow_queue.name = :queue_in AND duerow_queue.draining = 1))
ON CONFLICT (queue, "key")
WHERE "key" IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING id
