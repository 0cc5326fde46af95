-- Lock the rows of sets, and add those that are missing; return them, and whether each was complete
-- before.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); UPDATE duerow_set
SET parts = duerow_set.parts
OUTPUT inserted.queue, inserted.correlation, inserted.set_id, inserted.parts, CASE WHEN inserted.closed_until > @now
    THEN 1 ELSE 0 END
FROM (SELECT given.queue AS queue, given.correlation AS correlation, 0 AS parts
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]') AS cell) AS given
WHERE 1 = 1) AS fresh
JOIN duerow_set WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK) ON duerow_set.queue = fresh.queue AND
    duerow_set.correlation = fresh.correlation; DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_set
    (queue, correlation, parts)
OUTPUT inserted.queue, inserted.correlation, inserted.set_id, inserted.parts, CASE WHEN inserted.closed_until > @now
    THEN 1 ELSE 0 END SELECT fresh.queue, fresh.correlation, fresh.parts
FROM (SELECT given.queue AS queue, given.correlation AS correlation, 0 AS parts, row_number() OVER (ORDER BY
    given.queue, given.correlation) AS line_number
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]') AS cell) AS given
WHERE 1 = 1) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_set AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK)
WHERE held.queue = fresh.queue AND held.correlation = fresh.correlation)
ORDER BY fresh.line_number
