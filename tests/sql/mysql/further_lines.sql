-- Read the lowest priority in use between the given ones, in groups or not; null: none. And if it is
-- paused.
SELECT :grouped_0 AS anon_1, CASE WHEN :grouped_0 THEN (SELECT duerow_message.priority
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority > :low_0 AND duerow_message.priority < :high_0 AND
    duerow_message.due_at IS NOT NULL AND duerow_message.line = 1
ORDER BY duerow_message.queue, duerow_message.line, duerow_message.priority
LIMIT 1) ELSE (SELECT duerow_message.priority
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority > :low_0 AND duerow_message.priority < :high_0 AND
    duerow_message.due_at IS NOT NULL AND duerow_message.line = 0
ORDER BY duerow_message.queue, duerow_message.line, duerow_message.priority
LIMIT 1) END AS anon_2, coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_in), 1 = 0) AS coalesce_1 UNION ALL SELECT :grouped_1 AS anon_3, CASE WHEN :grouped_1
    THEN (SELECT duerow_message.priority
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority > :low_1 AND duerow_message.priority < :high_1 AND
    duerow_message.due_at IS NOT NULL AND duerow_message.line = 1
ORDER BY duerow_message.queue, duerow_message.line, duerow_message.priority
LIMIT 1) ELSE (SELECT duerow_message.priority
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority > :low_1 AND duerow_message.priority < :high_1 AND
    duerow_message.due_at IS NOT NULL AND duerow_message.line = 0
ORDER BY duerow_message.queue, duerow_message.line, duerow_message.priority
LIMIT 1) END AS anon_4, coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_in), 1 = 0) AS coalesce_2
