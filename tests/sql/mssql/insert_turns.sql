-- Keep turns that are over as they were.
INSERT INTO duerow_history (id, token, queue, [key], kind, payload, headers, [group], priority, outcome, moved_to,
    attempts, created_at, first_due_at, due_at, started_at, finished_at, worker, error, until) SELECT given.id,
    given.token, given.queue, given.[key], given.kind, given.payload, given.headers, given.[group], given.priority,
    given.outcome, given.moved_to, given.attempts, given.created_at, given.first_due_at, given.due_at,
    given.started_at, given.finished_at, given.worker, given.error, given.until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], CAST(CAST(cell.[queue] AS
    NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue], CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [key], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS
    [payload], cell.[headers] COLLATE Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [group], cell.[priority] AS [priority], cell.[outcome] COLLATE Latin1_General_100_BIN2 AS
    [outcome], CAST(CAST(cell.[moved_to] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [moved_to], cell.[attempts] AS
    [attempts], cell.[created_at] AS [created_at], cell.[first_due_at] AS [first_due_at], cell.[due_at] AS [due_at],
    cell.[started_at] AS [started_at], cell.[finished_at] AS [finished_at], cell.[worker] COLLATE
    Latin1_General_100_BIN2 AS [worker], cell.[error] COLLATE Latin1_General_100_BIN2 AS [error], cell.[until] AS
    [until]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [queue] NVARCHAR(4000) '$[2]', [key] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX) '$[4]',
    [payload] NVARCHAR(MAX) '$[5]', [headers] NVARCHAR(MAX) '$[6]', [group] NVARCHAR(4000) '$[7]', [priority] SMALLINT
    '$[8]', [outcome] NVARCHAR(MAX) '$[9]', [moved_to] NVARCHAR(4000) '$[10]', [attempts] INT '$[11]', [created_at]
    DATETIME2(6) '$[12]', [first_due_at] DATETIME2(6) '$[13]', [due_at] DATETIME2(6) '$[14]', [started_at]
    DATETIME2(6) '$[15]', [finished_at] DATETIME2(6) '$[16]', [worker] NVARCHAR(MAX) '$[17]', [error] NVARCHAR(MAX)
    '$[18]', [until] DATETIME2(6) '$[19]') AS cell) AS given
