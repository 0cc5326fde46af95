-- Count the rows of a queue that are in no line, by what they wait for, each up to a number.
SELECT (SELECT count(*) AS count_1
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.rests = 1 AND (duerow_message.status NOT IN ('new',
    'error'))
LIMIT :limit_in) AS dead) AS anon_1, (SELECT count(*) AS count_2
FROM (SELECT duerow_message.id AS id
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.stopped = 1
LIMIT :limit_in) AS stopped) AS anon_2, (SELECT count(*) AS count_3
FROM (SELECT duerow_message.id AS id
FROM duerow_message FORCE INDEX (duerow_message_group)
WHERE duerow_message.queue = :queue_in AND duerow_message.live_group IS NOT NULL AND duerow_message.due_at IS NULL AND
    duerow_message.behind_at IS NOT NULL
LIMIT :limit_in) AS waiting) AS anon_3, coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_in), 1 = 0) AS coalesce_1, UTC_TIMESTAMP(6) AS anon_4
