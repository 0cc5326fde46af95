-- Read the live messages that hold the given keys, locked in their order against changes where rows
-- can be.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group], duerow_message.priority,
    duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM (SELECT CAST(line.[key] AS INT) AS nth, CAST(CAST(cell.[queue] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [queue],
    CAST(CAST(cell.[key] AS NVARCHAR(4000)) AS VARBINARY(8000)) AS [key]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([queue] NVARCHAR(4000)
    '$[0]', [key] NVARCHAR(4000) '$[1]') AS cell) AS given
JOIN duerow_message WITH (FORCESEEK, ROWLOCK, UPDLOCK) ON duerow_message.queue = given.queue AND duerow_message.[key]
    = given.[key] AND duerow_message.[key] IS NOT NULL AND duerow_message.status IN ('new', 'error')
