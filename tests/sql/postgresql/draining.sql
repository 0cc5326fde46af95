-- Read which of the given queues take no new messages.
SELECT duerow_queue.name
FROM duerow_queue
WHERE duerow_queue.name IN (SELECT given.queue
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS given(queue)) AND duerow_queue.draining
