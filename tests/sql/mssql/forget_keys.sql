-- Take remembered keys away; return the ids of those who held them.
DELETE duerow_remembered
OUTPUT deleted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_remembered WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_remembered.queue = given.queue AND
    duerow_remembered.[key] = given.[key]
