-- Read the name of the first queue after a name of which something else than messages is kept, by
-- indexes.
SELECT (SELECT min(duerow_history.queue) AS min_1
FROM duerow_history
WHERE duerow_history.queue > :queue_in::VARCHAR) AS anon_1, (SELECT min(duerow_remembered.queue) AS min_2
FROM duerow_remembered
WHERE duerow_remembered.queue > :queue_in::VARCHAR) AS anon_2, (SELECT min(duerow_counter.queue) AS min_3
FROM duerow_counter
WHERE duerow_counter.queue > :queue_in::VARCHAR) AS anon_3
