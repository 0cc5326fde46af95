-- Lock the oldest due rows of a line and read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message.`group`
FROM duerow_message FORCE INDEX (duerow_message_due)
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 1 AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
FOR UPDATE SKIP LOCKED
