-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at) SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind,
    CAST(duerow_staged.payload AS JSON) AS payload, CAST(duerow_staged.headers AS JSON) AS headers,
    duerow_staged."group", duerow_staged.priority, 'new', coalesce(duerow_staged.due, statement_timestamp() +
    (duerow_staged.delay * INTERVAL '1 microsecond'), statement_timestamp()) AS coalesce_1,
    coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) AS coalesce__1, 0, 0, statement_timestamp() AS statement_timestamp_1
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT
ORDER BY duerow_staged.place
