-- Take rows that were picked away, as `pop` does.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_message
OUTPUT deleted.id, deleted.queue, deleted.payload, deleted.kind, deleted.[key], deleted.headers, deleted.[group],
    deleted.priority, deleted.status, COALESCE(deleted.due_at, deleted.behind_at), deleted.first_due_at,
    deleted.attempts, deleted.token, deleted.leased_by, deleted.leased_until, deleted.created_at,
    deleted.last_attempt_at, deleted.last_error, @now
FROM (SELECT CAST(line.[key] AS INT) AS nth, cell.[id] AS [id]
FROM OPENJSON(CAST(:given AS NVARCHAR(MAX))) AS line CROSS APPLY OPENJSON(line.[value]) WITH ([id] BIGINT '$[0]') AS
    cell) AS given
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, FORCESEEK) ON duerow_message.id = given.id
