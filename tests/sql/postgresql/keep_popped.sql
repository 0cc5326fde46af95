-- Keep the turns of rows that were picked and are about to be popped.
INSERT INTO duerow_history (id, token, queue, key, kind, payload, headers, "group", priority, attempts, created_at,
    first_due_at, due_at, moved_to, started_at, finished_at, worker, error, outcome, until) SELECT duerow_message.id,
    duerow_message.token + 1 AS anon_1, duerow_message.queue, duerow_message.key, duerow_message.kind,
    duerow_message.payload, duerow_message.headers, duerow_message."group", duerow_message.priority,
    duerow_message.attempts + 1 AS anon_2, duerow_message.created_at, duerow_message.first_due_at,
    duerow_message.due_at, NULL AS anon_3, statement_timestamp() AS statement_timestamp_1, statement_timestamp() AS
    statement_timestamp__1, NULL AS anon__1, NULL AS anon__2, 'done', statement_timestamp() + (:history::BIGINT *
    INTERVAL '1 microsecond') AS anon_4
FROM unnest(CAST(CAST(:given_id::VARCHAR AS TEXT) AS BIGINT[])) AS given(id)
JOIN duerow_message ON duerow_message.id = given.id
FOR UPDATE OF duerow_message
ON CONFLICT (id, token) DO UPDATE
SET until = excluded.until
