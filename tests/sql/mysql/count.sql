-- Count a queue's rows by status: those in line, those behind others, those at rest, each by its own
-- index.
SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 0 GROUP BY
    duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NOT NULL AND duerow_message.line = 1 GROUP BY
    duerow_message.status UNION ALL SELECT duerow_message.status, count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL AND
    duerow_message.live_group IS NOT NULL GROUP BY duerow_message.status UNION ALL SELECT duerow_message.status,
    count(*) AS number
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1 GROUP BY duerow_message.status
