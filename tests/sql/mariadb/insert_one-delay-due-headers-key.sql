-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
INSERT INTO duerow_message (queue, `key`, kind, payload, headers, `group`, priority, status, due_at, first_due_at,
    attempts, token, created_at)
VALUES (:queue_in, :key_in, :kind_in, :payload_in, :headers_in, NULL, 0, 'new', coalesce(:due_in,
    timestampadd(MICROSECOND, :delay_in, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)), coalesce(:due_in,
    timestampadd(MICROSECOND, :delay_in, UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6)), 0, 0, UTC_TIMESTAMP(6)) ON DUPLICATE
    KEY UPDATE id = duerow_message.id
RETURNING duerow_message.id, duerow_message.id = lastval(`duerow_message_id`) AS anon_1
