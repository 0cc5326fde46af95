-- Take the oldest due rows of a line without groups away; each with the time, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error, UTC_TIMESTAMP(6) AS anon_1, duerow_message.id AS id__1, UTC_TIMESTAMP(6) AS anon_2
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 0 AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED;
SET STATEMENT sql_safe_updates = 0 FOR DELETE duerow_message
FROM (SELECT found_rows.`id`
FROM JSON_TABLE(:found, '$[*]' COLUMNS (`id` BIGINT PATH '$')) AS found_rows) AS found STRAIGHT_JOIN duerow_message ON
    duerow_message.id = found.id
