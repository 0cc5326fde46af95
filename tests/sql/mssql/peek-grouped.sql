-- Read the oldest due rows of a line; of groups only those whose turn it is.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); SELECT TOP (CAST(:limit_in AS INT)) duerow_message.id,
    duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind, duerow_message.[key],
    duerow_message.headers AS headers, duerow_message.[group], duerow_message.priority, duerow_message.status,
    COALESCE(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1, duerow_message.first_due_at,
    duerow_message.attempts, duerow_message.token, duerow_message.leased_by, duerow_message.leased_until,
    duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error AS last_error
FROM duerow_message
WHERE duerow_message.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_message.priority =
    CAST(:priority_in AS SMALLINT) AND duerow_message.due_at <= @now AND duerow_message.[group] IS NOT NULL AND NOT
    (EXISTS (SELECT other.id
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.status IN ('new',
    'error') AND other.id < duerow_message.id)) AND NOT (EXISTS (SELECT *
FROM duerow_message AS other
WHERE other.queue = duerow_message.queue AND other.[group] = duerow_message.[group] AND other.leased_by IS NOT NULL
    AND other.id != duerow_message.id))
ORDER BY duerow_message.due_at, duerow_message.id
