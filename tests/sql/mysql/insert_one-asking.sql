-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
INSERT INTO `duerow_message_id`
VALUES (); SELECT last_insert_id() AS first, @@auto_increment_increment AS stride; DELETE
FROM duerow_message_id
WHERE duerow_message_id.id = :first_id; DELETE /*+ SET_VAR(sql_safe_updates = 0) */ duerow_message_id
FROM (SELECT found_rows.`id`, found_rows.nth_given
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$', nth_given FOR ORDINALITY)) AS found_rows) AS found
    STRAIGHT_JOIN duerow_message_id ON duerow_message_id.id = found.id; INSERT INTO duerow_message (queue, `key`,
    kind, payload, headers, `group`, priority, status, due_at, first_due_at, attempts, token, created_at, id) SELECT
    CAST(:queue_in AS CHAR) AS anon_1, CAST(:key_in AS CHAR) AS anon_2, CAST(:kind_in AS CHAR) AS anon_3,
    CAST(:payload_in AS CHAR) AS anon_4, NULL AS anon_5, NULL AS anon__1, 0, 'new', UTC_TIMESTAMP(6) AS anon_6,
    UTC_TIMESTAMP(6) AS anon__2, 0, 0, UTC_TIMESTAMP(6) AS anon__3, :first_id AS anon_7
FROM DUAL
WHERE NOT (EXISTS (SELECT *
FROM duerow_queue
WHERE duerow_queue.name = :queue_in AND duerow_queue.draining = 1)) ON DUPLICATE KEY UPDATE id = duerow_message.id;
    SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.id = :first_id
