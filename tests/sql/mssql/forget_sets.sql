-- Take the rows of sets away.
DELETE duerow_set
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[correlation] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [correlation]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [correlation] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_set WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_set.queue = given.queue AND duerow_set.correlation =
    given.correlation
