-- Read the name of the first queue after a name: the smallest of each kind of rows, by its own index.
SELECT (SELECT duerow_message.queue
FROM duerow_message
WHERE duerow_message.queue > :queue_in
ORDER BY duerow_message.queue
LIMIT 1) AS anon_1
