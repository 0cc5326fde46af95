-- Read the message that has to leave a group before the given one: the one that is lent, else the
-- first.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.`key`, duerow_message.headers AS headers, duerow_message.`group`, duerow_message.priority,
    duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id = coalesce((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in AND other.lent_group = :group_in AND other.id != :id_in
LIMIT 1), (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in AND other.live_group = :group_in AND other.id < :id_in
ORDER BY other.id
LIMIT 1))
