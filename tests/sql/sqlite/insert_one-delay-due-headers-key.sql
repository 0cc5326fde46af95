-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
INSERT INTO duerow_message (queue, "key", kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at)
VALUES (:queue_in, :key_in, :kind_in, :payload_in, :headers_in, NULL, 0, 'new', coalesce(:due_in, :now + :delay_in,
    :now), coalesce(:due_in, :now + :delay_in, :now), 0, 0, :now)
ON CONFLICT (queue, "key")
WHERE "key" IS NOT NULL AND status IN ('new', 'error') DO NOTHING
RETURNING id
