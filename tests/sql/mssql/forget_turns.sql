-- Take turns away; return their ids.
DELETE duerow_history
OUTPUT deleted.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_history WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_history.id = given.id AND
    duerow_history.token = given.token
