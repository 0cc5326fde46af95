-- Read which of the given queues take no new messages.
SELECT duerow_queue.name
FROM duerow_queue
WHERE duerow_queue.name IN (SELECT given.queue
FROM (SELECT given_rows.value AS queue
FROM json_each(:given) AS given_rows) AS given) AND duerow_queue.draining = 1
