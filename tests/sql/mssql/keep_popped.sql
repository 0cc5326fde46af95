-- Keep the turns of rows that were picked and are about to be popped.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id, token, queue, [key], kind, payload,
    headers, [group], priority, attempts, created_at, first_due_at, due_at, moved_to, started_at, finished_at, worker,
    error, outcome, until) SELECT duerow_message.id, duerow_message.token + 1 AS anon_1, duerow_message.queue,
    duerow_message.[key], duerow_message.kind, duerow_message.payload, duerow_message.headers, duerow_message.[group],
    duerow_message.priority, duerow_message.attempts + 1 AS anon_2, duerow_message.created_at,
    duerow_message.first_due_at, duerow_message.due_at, NULL AS anon_3, @now AS anon_4, @now AS anon__1, NULL AS
    anon__2, NULL AS anon__3, 'done', dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000, dateadd(SECOND,
    (CAST(:history AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) / 86400, @now)))
    AS dateadd_1
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id
