-- Take the oldest due rows of a line without groups away; each with the time, and the floor as in
-- `reserve`.
DELETE
FROM duerow_message
WHERE duerow_message.id IN (SELECT duerow_message.id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <= :now
    AND duerow_message."group" IS NULL AND duerow_message.kind IN (:kind_0_in, :kind_1_in)
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in OFFSET :param_1)
RETURNING id, queue, payload AS payload, kind, "key", headers AS headers, "group", priority, status, coalesce(due_at,
    behind_at) AS coalesce_1, first_due_at, attempts, token, leased_by, leased_until, created_at, last_attempt_at,
    last_error AS last_error, :now AS anon_1
