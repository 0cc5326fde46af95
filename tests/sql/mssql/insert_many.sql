-- Add messages with ids handed out before; return the ids of those whose key was free. Locks in key
-- order.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id SELECT fresh.id, fresh.queue, fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group],
    fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts, fresh.token, fresh.created_at
FROM (SELECT given.id AS id, given.queue AS queue, given.[key] AS [key], given.kind AS kind, given.payload AS payload,
    given.headers AS headers, given.[group] AS [group], given.priority AS priority, 'new' AS status,
    COALESCE(given.due, dateadd(MICROSECOND, given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) % 86400,
    dateadd(DAY, (given.delay / 1000000) / 86400, @now))), @now) AS due_at, COALESCE(given.due, dateadd(MICROSECOND,
    given.delay % 1000000, dateadd(SECOND, (given.delay / 1000000) % 86400, dateadd(DAY, (given.delay / 1000000) /
    86400, @now))), @now) AS first_due_at, 0 AS attempts, 0 AS token, @now AS created_at, row_number() OVER (ORDER BY
    given.queue, given.[key], given.id) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [queue], CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[kind]
    COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload],
    cell.[headers] COLLATE Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [group], cell.[priority] AS [priority], cell.[due] AS [due], cell.[delay] AS [delay]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [queue] NVARCHAR(4000) '$[1]', [key] NVARCHAR(4000) '$[2]', [kind] NVARCHAR(MAX) '$[3]', [payload] NVARCHAR(MAX)
    '$[4]', [headers] NVARCHAR(MAX) '$[5]', [group] NVARCHAR(4000) '$[6]', [priority] SMALLINT '$[7]', [due]
    DATETIME2(6) '$[8]', [delay] BIGINT '$[9]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error'))
ORDER BY fresh.line_number
