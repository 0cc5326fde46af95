-- Read the ids and tokens of the messages of sets that are still there, locked where rows can be.
SELECT duerow_message.id, duerow_message.token
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS
    VARBINARY(8000)) AS [queue]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [queue] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = given.id AND duerow_message.queue =
    given.queue
