-- Read turns of a queue's history; made for one use, with the condition's values.
SELECT duerow_history.id, duerow_history.token, duerow_history.queue, duerow_history.`key`, duerow_history.kind,
    duerow_history.payload AS payload, duerow_history.headers AS headers, duerow_history.`group`,
    duerow_history.priority, duerow_history.outcome, duerow_history.moved_to, duerow_history.attempts,
    duerow_history.created_at, duerow_history.first_due_at, duerow_history.due_at, duerow_history.started_at,
    duerow_history.finished_at, duerow_history.worker, duerow_history.error AS error
FROM duerow_history
WHERE duerow_history.queue = :queue_in AND duerow_history.id = :param_1 AND duerow_history.outcome != 'failed'
ORDER BY duerow_history.token
LIMIT :limit_in
