-- Read what is said of all queues, or of one by its `name`.
SELECT duerow_queue.name, duerow_queue.definition AS definition, duerow_queue.paused, duerow_queue.draining
FROM duerow_queue
WHERE duerow_queue.name = :queue_in
