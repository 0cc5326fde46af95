-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
INSERT INTO duerow_message (queue, key, kind, payload, headers, "group", priority, status, due_at, first_due_at,
    attempts, token, created_at, behind_at) SELECT duerow_staged.queue, duerow_staged.key, duerow_staged.kind,
    CAST(duerow_staged.payload AS JSON) AS payload, CAST(duerow_staged.headers AS JSON) AS headers,
    duerow_staged."group", duerow_staged.priority, 'new', CASE WHEN (duerow_staged."group" IS NOT NULL AND
    row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN NULL ELSE coalesce(duerow_staged.due, statement_timestamp() +
    (duerow_staged.delay * INTERVAL '1 microsecond'), statement_timestamp()) END AS anon_1,
    coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay * INTERVAL '1 microsecond'),
    statement_timestamp()) AS coalesce_1, 0, 0, statement_timestamp() AS statement_timestamp_1, CASE WHEN
    (duerow_staged."group" IS NOT NULL AND row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged."group"
ORDER BY duerow_staged.place) > 1) THEN coalesce(duerow_staged.due, statement_timestamp() + (duerow_staged.delay *
    INTERVAL '1 microsecond'), statement_timestamp()) ELSE NULL END AS anon_2
FROM duerow_staged
WHERE duerow_staged.staging_id = :staging_in::BIGINT
ORDER BY duerow_staged.place
