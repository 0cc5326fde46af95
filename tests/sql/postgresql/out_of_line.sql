-- Count the rows of a queue that are in no line, by what they wait for, each up to a number.
SELECT (SELECT count(*) AS count_1
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
    AND (duerow_message.status NOT IN ('new', 'error'))
LIMIT :limit_in::INTEGER) AS dead) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NULL
    AND duerow_message.status != 'dead'
LIMIT :limit_in::INTEGER) AS stopped) AS anon_2, (SELECT count(*) AS count_3
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in::VARCHAR AND duerow_message."group" IS NOT NULL AND duerow_message.status IN
    ('new', 'error') AND duerow_message.due_at IS NULL AND duerow_message.behind_at IS NOT NULL
LIMIT :limit_in::INTEGER) AS waiting) AS anon_3, coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_in::VARCHAR), 1 = 0) AS coalesce_1, statement_timestamp() AS statement_timestamp_1
