-- Take the oldest due rows of a line without groups away; each with the time, and the floor as in
-- `reserve`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); DELETE duerow_message
OUTPUT deleted.id, deleted.queue, deleted.payload, deleted.kind, deleted.[key], deleted.headers, deleted.[group],
    deleted.priority, deleted.status, COALESCE(deleted.due_at, deleted.behind_at), deleted.first_due_at,
    deleted.attempts, deleted.token, deleted.leased_by, deleted.leased_until, deleted.created_at,
    deleted.last_attempt_at, deleted.last_error, @now
FROM (SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id AS id
FROM duerow_message WITH (INDEX(duerow_message_due), ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL AND
    duerow_message.kind IN (:kind_0_in, :kind_1_in) AND duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id) AS picked
JOIN duerow_message WITH (INDEX(1), ROWLOCK, UPDLOCK, READPAST, FORCESEEK) ON duerow_message.id = picked.id AND
    duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NULL AND
    duerow_message.kind IN (:kind_0_in, :kind_1_in) AND duerow_message.due_at IS NOT NULL
