-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (id, queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at)
VALUES (:first_id, :queue_in, NULL, :kind_in, :payload_in, NULL, NULL, 0, 'new', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6),
    0, 0, UTC_TIMESTAMP(6))
