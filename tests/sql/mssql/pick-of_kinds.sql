-- Lock the oldest due rows of a line and read their id, due time and group, and the floor as in
-- `reserve`.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id,
    duerow_message.due_at, duerow_message.[group]
FROM duerow_message WITH (INDEX(duerow_message_heads), ROWLOCK, UPDLOCK, READPAST)
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NOT NULL AND
    duerow_message.kind IN (:kind_0_in, :kind_1_in) AND duerow_message.due_at IS NOT NULL
ORDER BY duerow_message.due_at, duerow_message.id
