-- Wake the sleeping consumers of the bound `queues`.
SELECT pg_notify('duerow_wake', duerow_waiting.queue) AS pg_notify_1
FROM duerow_waiting
WHERE duerow_waiting.queue = ANY (CAST(CAST(:queues::VARCHAR AS TEXT) AS TEXT[])) AND duerow_waiting.until >
    statement_timestamp()
