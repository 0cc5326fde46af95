-- Read the lowest priority in use between the given ones, in groups or not; null: none. And if it is
-- paused.
SELECT given.grouped, CASE WHEN given.grouped THEN (SELECT min(duerow_message.priority) AS min_1
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority > given.low AND duerow_message.priority <
    given.high AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NOT NULL) ELSE (SELECT
    min(duerow_message.priority) AS min_2
FROM duerow_message
WHERE duerow_message.queue = :queue_in AND duerow_message.priority > given.low AND duerow_message.priority <
    given.high AND duerow_message.due_at IS NOT NULL AND duerow_message."group" IS NULL) END AS anon_1,
    coalesce((SELECT duerow_queue.paused
FROM duerow_queue
WHERE duerow_queue.name = :queue_in), 1 = 0) AS coalesce_1
FROM (SELECT json_extract(given_rows.value, '$[0]') AS grouped, json_extract(given_rows.value, '$[1]') AS low,
    json_extract(given_rows.value, '$[2]') AS high
FROM json_each(:given) AS given_rows) AS given
