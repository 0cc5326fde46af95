-- Read the name of the first queue after a name: its due rows' and its resting rows' smallest.
SELECT (SELECT min(duerow_message.queue) AS min_1
FROM duerow_message
WHERE duerow_message.queue > :queue_in AND duerow_message.due_at IS NOT NULL) AS anon_1, (SELECT
    min(duerow_message.queue) AS min_2
FROM duerow_message
WHERE duerow_message.queue > :queue_in AND duerow_message.due_at IS NULL) AS anon_2
