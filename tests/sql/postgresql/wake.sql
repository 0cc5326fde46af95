-- Wake the sleeping consumers of the given queues.
SELECT pg_notify('duerow_wake', duerow_waiting.queue) AS pg_notify_1
FROM duerow_waiting
WHERE duerow_waiting.queue IN (SELECT given.queue
FROM unnest(CAST(CAST(:given_queue::VARCHAR AS TEXT) AS TEXT[])) AS given(queue)) AND duerow_waiting.until >
    statement_timestamp()
