-- Push what was staged under a number, in its order; with `keyed` what has a key that is held is left
-- out.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at) SELECT NEXT VALUE FOR
    [duerow_message_id] OVER (ORDER BY fresh.line_number), fresh.queue, fresh.[key], fresh.kind, fresh.payload,
    fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts,
    fresh.token, fresh.created_at
FROM (SELECT duerow_staged.queue AS queue, duerow_staged.[key] AS [key], duerow_staged.kind AS kind,
    duerow_staged.payload AS payload, duerow_staged.headers AS headers, duerow_staged.[group] AS [group],
    duerow_staged.priority AS priority, 'new' AS status, COALESCE(duerow_staged.due, dateadd(MICROSECOND,
    duerow_staged.delay % 1000000, dateadd(SECOND, (duerow_staged.delay / 1000000) % 86400, dateadd(DAY,
    (duerow_staged.delay / 1000000) / 86400, @now))), @now) AS due_at, COALESCE(duerow_staged.due,
    dateadd(MICROSECOND, duerow_staged.delay % 1000000, dateadd(SECOND, (duerow_staged.delay / 1000000) % 86400,
    dateadd(DAY, (duerow_staged.delay / 1000000) / 86400, @now))), @now) AS first_due_at, 0 AS attempts, 0 AS token,
    @now AS created_at, row_number() OVER (PARTITION BY duerow_staged.queue, duerow_staged.[key]
ORDER BY duerow_staged.place) AS copy_number, row_number() OVER (ORDER BY duerow_staged.place) AS line_number
FROM duerow_staged
WHERE duerow_staged.staging_id = CAST(:staging_in AS BIGINT)) AS fresh
WHERE (fresh.[key] IS NULL OR fresh.copy_number = 1 AND NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error')))
