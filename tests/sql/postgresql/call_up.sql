-- Put the first of each given group into the line, if it is not; return the queues and due times.
UPDATE duerow_message
SET due_at=coalesce(duerow_message.behind_at, duerow_message.due_at), behind_at=NULL
WHERE duerow_message.id IN (SELECT (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other."group" = given."group" AND other.status IN ('new', 'error')
ORDER BY other.id
LIMIT 1) AS id
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[]), CAST(CAST(:given_group::VARCHAR AS TEXT) AS TEXT[]))
    AS given(queue, "group")) AND duerow_message.leased_by IS NULL
RETURNING duerow_message.queue, duerow_message.due_at
