-- Read the ids of the rows that `change` would change.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT duerow_message.id
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id], cell.[token] AS [token]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]',
    [token] BIGINT '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK) ON duerow_message.id = given.id AND duerow_message.token = given.token
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.status !=
    'done' AND (CAST(:even_if_leased AS BIT) = 1 OR duerow_message.leased_until IS NULL OR duerow_message.leased_until
    <= @now)
