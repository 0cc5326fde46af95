-- Read who held the given keys, and whether they are still remembered.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT duerow_remembered.queue, duerow_remembered.[key],
    duerow_remembered.id, CASE WHEN (duerow_remembered.until > @now) THEN 1 ELSE 0 END AS still
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_remembered WITH (FORCESEEK) ON duerow_remembered.queue = given.queue AND duerow_remembered.[key] =
    given.[key]
