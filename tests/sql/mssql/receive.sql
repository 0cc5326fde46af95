-- statement: insert_arrived
-- Add messages as they were, with given ids; return the ids of those whose key was free.
INSERT INTO duerow_message (id, queue, [key], kind, payload, headers, [group], priority, status, due_at, first_due_at,
    attempts, token, created_at, last_attempt_at, last_error)
OUTPUT inserted.id SELECT fresh.id, fresh.queue, fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group],
    fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts, fresh.token, fresh.created_at,
    fresh.last_attempt_at, fresh.last_error
FROM (SELECT given.id AS id, given.queue AS queue, given.[key] AS [key], given.kind AS kind, given.payload AS payload,
    given.headers AS headers, given.[group] AS [group], given.priority AS priority, given.status AS status,
    given.due_at AS due_at, given.first_due_at AS first_due_at, given.attempts AS attempts, given.token AS token,
    given.created_at AS created_at, given.last_attempt_at AS last_attempt_at, given.last_error AS last_error,
    row_number() OVER (PARTITION BY given.queue, given.[key], CASE WHEN (given.[key] IS NOT NULL AND given.status IN
    ('new', 'error')) THEN 0 ELSE given.id END
ORDER BY given.queue, given.[key], given.id) AS copy_number, row_number() OVER (ORDER BY given.queue, given.[key],
    given.id) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [queue], CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[kind]
    COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2 AS [payload],
    cell.[headers] COLLATE Latin1_General_100_BIN2 AS [headers], CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [group], cell.[priority] AS [priority], cell.[status] COLLATE Latin1_General_100_BIN2 AS
    [status], cell.[due_at] AS [due_at], cell.[first_due_at] AS [first_due_at], cell.[attempts] AS [attempts],
    cell.[token] AS [token], cell.[created_at] AS [created_at], cell.[last_attempt_at] AS [last_attempt_at],
    cell.[last_error] COLLATE Latin1_General_100_BIN2 AS [last_error]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [queue] NVARCHAR(4000) '$[1]', [key] NVARCHAR(4000) '$[2]', [kind] NVARCHAR(MAX) '$[3]', [payload] NVARCHAR(MAX)
    '$[4]', [headers] NVARCHAR(MAX) '$[5]', [group] NVARCHAR(4000) '$[6]', [priority] SMALLINT '$[7]', [status]
    NVARCHAR(MAX) '$[8]', [due_at] DATETIME2(6) '$[9]', [first_due_at] DATETIME2(6) '$[10]', [attempts] INT '$[11]',
    [token] BIGINT '$[12]', [created_at] DATETIME2(6) '$[13]', [last_attempt_at] DATETIME2(6) '$[14]', [last_error]
    NVARCHAR(MAX) '$[15]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE fresh.copy_number = 1 AND NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error'))
ORDER BY fresh.line_number

-- statement: insert_turns
-- Add finished turns as they were.
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

-- statement: noted_of
-- Read which of the given names are recorded.
SELECT duerow_noted.name
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[name] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [name]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([name] NVARCHAR(4000)
    '$[0]') AS cell) AS given
JOIN duerow_noted WITH (FORCESEEK) ON duerow_noted.name = given.name
