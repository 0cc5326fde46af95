-- Remember the given keys of messages that have left.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_remembered
SET id = fresh.id, until = fresh.until
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.id AS id, dateadd(MICROSECOND, CAST(:keys AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:keys AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:keys AS BIGINT) / 1000000)
    / 86400, @now))) AS until
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]', [id] BIGINT '$[2]') AS cell) AS given
WHERE 1 = 1) AS fresh
JOIN duerow_remembered WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_remembered.queue = fresh.queue AND
    duerow_remembered.[key] = fresh.[key]; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_remembered
    (queue, [key], id, until) SELECT fresh.queue, fresh.[key], fresh.id, fresh.until
FROM (SELECT given.queue AS queue, given.[key] AS [key], given.id AS id, dateadd(MICROSECOND, CAST(:keys AS BIGINT) %
    1000000, dateadd(SECOND, (CAST(:keys AS BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:keys AS BIGINT) / 1000000)
    / 86400, @now))) AS until, row_number() OVER (ORDER BY given.queue, given.[key]) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key], cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]', [id] BIGINT '$[2]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_remembered AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key])
ORDER BY fresh.line_number
