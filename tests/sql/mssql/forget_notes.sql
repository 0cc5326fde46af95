-- Take names away; return them.
DELETE duerow_noted
OUTPUT deleted.name
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[name] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [name]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([name] NVARCHAR(4000)
    '$[0]') AS cell) AS given
JOIN duerow_noted WITH (ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_noted.name = given.name
