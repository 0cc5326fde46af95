-- Keep turns of messages that become parts of sets: with headers of their own.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_history
SET until = fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], COALESCE(given.kind, duerow_message.kind) AS kind, COALESCE(given.payload,
    duerow_message.payload) AS payload, given.headers AS headers, duerow_message.[group] AS [group],
    duerow_message.priority AS priority, duerow_message.attempts AS attempts, duerow_message.created_at AS created_at,
    duerow_message.first_due_at AS first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS
    due_at, given.moved_to AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at, @now AS
    finished_at, duerow_message.leased_by AS worker, given.error AS error, given.outcome AS outcome,
    dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) %
    86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[outcome] COLLATE
    Latin1_General_100_BIN2 AS [outcome], CAST(CAST(cell.[moved_to] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [moved_to], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2
    AS [payload], cell.[error] COLLATE Latin1_General_100_BIN2 AS [error], cell.[headers] COLLATE
    Latin1_General_100_BIN2 AS [headers]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [outcome] NVARCHAR(MAX) '$[2]', [moved_to] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX)
    '$[4]', [payload] NVARCHAR(MAX) '$[5]', [error] NVARCHAR(MAX) '$[6]', [headers] NVARCHAR(MAX) '$[7]') AS cell) AS
    given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token) AS fresh
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_history.id = fresh.id AND
    duerow_history.token = fresh.token; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_history (id,
    token, queue, [key], kind, payload, headers, [group], priority, attempts, created_at, first_due_at, due_at,
    moved_to, started_at, finished_at, worker, error, outcome, until) SELECT fresh.id, fresh.token, fresh.queue,
    fresh.[key], fresh.kind, fresh.payload, fresh.headers, fresh.[group], fresh.priority, fresh.attempts,
    fresh.created_at, fresh.first_due_at, fresh.due_at, fresh.moved_to, fresh.started_at, fresh.finished_at,
    fresh.worker, fresh.error, fresh.outcome, fresh.until
FROM (SELECT duerow_message.id AS id, duerow_message.token AS token, duerow_message.queue AS queue,
    duerow_message.[key] AS [key], COALESCE(given.kind, duerow_message.kind) AS kind, COALESCE(given.payload,
    duerow_message.payload) AS payload, given.headers AS headers, duerow_message.[group] AS [group],
    duerow_message.priority AS priority, duerow_message.attempts AS attempts, duerow_message.created_at AS created_at,
    duerow_message.first_due_at AS first_due_at, COALESCE(duerow_message.place_at, duerow_message.first_due_at) AS
    due_at, given.moved_to AS moved_to, COALESCE(duerow_message.last_attempt_at, @now) AS started_at, @now AS
    finished_at, duerow_message.leased_by AS worker, given.error AS error, given.outcome AS outcome,
    dateadd(MICROSECOND, CAST(:history AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:history AS BIGINT) / 1000000) %
    86400, dateadd(DAY, (CAST(:history AS BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token], cell.[outcome] COLLATE
    Latin1_General_100_BIN2 AS [outcome], CAST(CAST(cell.[moved_to] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS
    [moved_to], cell.[kind] COLLATE Latin1_General_100_BIN2 AS [kind], cell.[payload] COLLATE Latin1_General_100_BIN2
    AS [payload], cell.[error] COLLATE Latin1_General_100_BIN2 AS [error], cell.[headers] COLLATE
    Latin1_General_100_BIN2 AS [headers]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]', [outcome] NVARCHAR(MAX) '$[2]', [moved_to] NVARCHAR(4000) '$[3]', [kind] NVARCHAR(MAX)
    '$[4]', [payload] NVARCHAR(MAX) '$[5]', [error] NVARCHAR(MAX) '$[6]', [headers] NVARCHAR(MAX) '$[7]') AS cell) AS
    given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_history AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.id = fresh.id AND held.token = fresh.token)
