-- Read the ids of the live messages that hold the given keys.
SELECT duerow_message.queue, duerow_message.[key], duerow_message.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK) ON duerow_message.queue = given.queue AND duerow_message.[key] = given.[key] AND
    duerow_message.[key] IS NOT NULL AND duerow_message.status IN ('new', 'error')
