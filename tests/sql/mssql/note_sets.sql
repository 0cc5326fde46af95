-- Note the messages of sets, the numbers of their parts, and for how long it is known that one was
-- complete.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_set
SET set_id = fresh.set_id, parts = fresh.parts, closed_until = fresh.closed_until
FROM (SELECT given.queue AS queue, given.correlation AS correlation, given.set_id AS set_id, given.parts AS parts,
    dateadd(MICROSECOND, given.remember % 1000000, dateadd(SECOND, (given.remember / 1000000) % 86400, dateadd(DAY,
    (given.remember / 1000000) / 86400, @now))) AS closed_until
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation], cell.[set_id] AS [set_id],
    cell.[parts] AS [parts], cell.[remember] AS [remember]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]', [set_id] BIGINT '$[2]', [parts] INT '$[3]', [remember] BIGINT '$[4]')
    AS cell) AS given
WHERE 1 = 1) AS fresh
JOIN duerow_set WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_set.queue = fresh.queue AND
    duerow_set.correlation = fresh.correlation; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_set
    (queue, correlation, set_id, parts, closed_until) SELECT fresh.queue, fresh.correlation, fresh.set_id,
    fresh.parts, fresh.closed_until
FROM (SELECT given.queue AS queue, given.correlation AS correlation, given.set_id AS set_id, given.parts AS parts,
    dateadd(MICROSECOND, given.remember % 1000000, dateadd(SECOND, (given.remember / 1000000) % 86400, dateadd(DAY,
    (given.remember / 1000000) / 86400, @now))) AS closed_until
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation], cell.[set_id] AS [set_id],
    cell.[parts] AS [parts], cell.[remember] AS [remember]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]', [set_id] BIGINT '$[2]', [parts] INT '$[3]', [remember] BIGINT '$[4]')
    AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_set AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.correlation = fresh.correlation)
