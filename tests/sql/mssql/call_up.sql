-- Put the first of each given group into the line, if it is not; return the queues and due times.
UPDATE duerow_message
SET due_at = COALESCE(duerow_message.behind_at, duerow_message.due_at), behind_at = NULL
OUTPUT inserted.queue, inserted.due_at
FROM (SELECT duerow_message.id AS id
FROM (SELECT (SELECT TOP (1) other.id
FROM duerow_message AS other
WHERE other.queue = given.queue AND other.[group] = given.[group] AND other.status IN ('new', 'error')
ORDER BY other.id) AS id
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[group] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [group]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [group] NVARCHAR(4000) '$[1]') AS cell) AS given) AS first
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.id = first.id
WHERE duerow_message.leased_by IS NULL) AS picked
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = picked.id AND
    duerow_message.leased_by IS NULL
