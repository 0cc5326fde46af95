-- Lock the oldest due rows of a line and read their id, due time and group, and the floor as in
-- `reserve`.
SELECT duerow_message.id, duerow_message.due_at, duerow_message."group"
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NOT NULL AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1
