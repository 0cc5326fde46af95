-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
INSERT INTO duerow_message (queue, `key`, kind, payload, headers, `group`, priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT CAST(:queue_in AS CHAR) AS anon_2, CAST(:key_in AS CHAR) AS anon_3,
    CAST(:kind_in AS CHAR) AS anon_4, CAST(:payload_in AS CHAR) AS anon_5, NULL AS anon_6, NULL AS anon__1, 0, 'new',
    UTC_TIMESTAMP(6) AS anon_7, UTC_TIMESTAMP(6) AS anon__2, 0, 0, UTC_TIMESTAMP(6) AS anon__3
FROM DUAL
WHERE NOT (EXISTS (SELECT *
FROM duerow_queue
WHERE duerow_queue.name = :queue_in AND duerow_queue.draining = 1)) ON DUPLICATE KEY UPDATE id = duerow_message.id
RETURNING duerow_message.id, duerow_message.id = lastval(`duerow_message_id`) AS anon_1
