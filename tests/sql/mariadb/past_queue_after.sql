-- Read the name of the first queue after a name of which something else than messages is kept, by
-- indexes.
SELECT (SELECT duerow_history.queue
FROM duerow_history
WHERE duerow_history.queue > :queue_in
ORDER BY duerow_history.queue
LIMIT 1) AS anon_1, (SELECT duerow_remembered.queue
FROM duerow_remembered
WHERE duerow_remembered.queue > :queue_in
ORDER BY duerow_remembered.queue
LIMIT 1) AS anon_2, (SELECT duerow_counter.queue
FROM duerow_counter
WHERE duerow_counter.queue > :queue_in
ORDER BY duerow_counter.queue
LIMIT 1) AS anon_3
