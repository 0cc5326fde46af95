-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
INSERT INTO duerow_message (queue, `key`, kind, payload, headers, `group`, priority, status, due_at, first_due_at,
    attempts, token, created_at)
VALUES (:queue_in, NULL, :kind_in, :payload_in, NULL, NULL, 0, 'new', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 0, 0,
    UTC_TIMESTAMP(6))
RETURNING duerow_message.id
