-- Read the messages of a range of ids that a claim holds; the planner is to see nothing but the range.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.id BETWEEN :first_in::BIGINT AND :last_in::BIGINT AND CASE WHEN (duerow_message.leased_by =
    :consumer::VARCHAR) THEN true ELSE false END AND CASE WHEN (duerow_message.queue = :queue_in::VARCHAR) THEN true
    ELSE false END
ORDER BY duerow_message.id
LIMIT :limit_in::INTEGER
