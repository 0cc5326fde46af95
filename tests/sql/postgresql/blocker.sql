-- Read the message that has to leave a group before the given one: the one that is lent, else the
-- first.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.id = coalesce((SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in::VARCHAR AND other."group" = :group_in::VARCHAR AND other.leased_by IS NOT NULL AND
    other.id != :id_in::BIGINT
LIMIT 1), (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = :queue_in::VARCHAR AND other."group" = :group_in::VARCHAR AND other.status IN ('new', 'error') AND
    other.id < :id_in::BIGINT
ORDER BY other.id
LIMIT 1))
