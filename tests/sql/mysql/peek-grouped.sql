-- Read the oldest due rows of a line; of groups only those whose turn it is.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority = :priority_in AND duerow_message.due_at <=
    UTC_TIMESTAMP(6) AND duerow_message.line = 1 AND nullif(least((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.live_group = duerow_message.`group`
ORDER BY other.id
LIMIT 1), duerow_message.id), duerow_message.id) IS NULL AND NOT (EXISTS (SELECT *
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.lent_group = duerow_message.`group` AND other.id !=
    duerow_message.id))
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in
