-- Remember the keys of messages whose turn is about to end: of the rows whose token matches, locked.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_remembered
SET id = fresh.id, until = fresh.until
FROM (SELECT duerow_message.queue AS queue, duerow_message.[key] AS [key], duerow_message.id AS id,
    dateadd(MICROSECOND, CAST(:keys AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:keys AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:keys AS BIGINT) / 1000000) / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token
WHERE duerow_message.[key] IS NOT NULL) AS fresh
JOIN duerow_remembered WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_remembered.queue = fresh.queue AND
    duerow_remembered.[key] = fresh.[key]; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_remembered
    (queue, [key], id, until) SELECT fresh.queue, fresh.[key], fresh.id, fresh.until
FROM (SELECT duerow_message.queue AS queue, duerow_message.[key] AS [key], duerow_message.id AS id,
    dateadd(MICROSECOND, CAST(:keys AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:keys AS BIGINT) / 1000000) % 86400,
    dateadd(DAY, (CAST(:keys AS BIGINT) / 1000000) / 86400, @now))) AS until, row_number() OVER (ORDER BY
    duerow_message.queue, duerow_message.[key]) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.token =
    given.token
WHERE duerow_message.[key] IS NOT NULL) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_remembered AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key])
ORDER BY fresh.line_number
