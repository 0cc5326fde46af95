-- Read the oldest due rows of a line; of groups only those whose turn it is.
SELECT duerow_message.id, duerow_message.queue, CAST(duerow_message.payload AS TEXT) AS payload, duerow_message.kind,
    duerow_message.key, CAST(duerow_message.headers AS TEXT) AS headers, duerow_message."group",
    duerow_message.priority, duerow_message.status, coalesce(duerow_message.due_at, duerow_message.behind_at) AS
    coalesce_1, duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at,
    CAST(duerow_message.last_error AS TEXT) AS last_error
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.priority = :priority_in::SMALLINT AND
    duerow_message.due_at <= statement_timestamp() AND duerow_message."group" IS NOT NULL AND NOT (EXISTS (SELECT
    other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.status IN ('new',
    'error') AND other.id < duerow_message.id)) AND NOT (EXISTS (SELECT *
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other."group" = duerow_message."group" AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id))
ORDER BY duerow_message.due_at, duerow_message.id
LIMIT :limit_in::INTEGER
