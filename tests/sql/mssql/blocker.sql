-- Read the message that has to leave a group before the given one: the one that is lent, else the
-- first.
SELECT duerow_message.id, duerow_message.queue, duerow_message.payload AS payload, duerow_message.kind,
    duerow_message.[key], duerow_message.headers AS headers, duerow_message.[group], duerow_message.priority,
    duerow_message.status, COALESCE(duerow_message.due_at, duerow_message.behind_at) AS coalesce_1,
    duerow_message.first_due_at, duerow_message.attempts, duerow_message.token, duerow_message.leased_by,
    duerow_message.leased_until, duerow_message.created_at, duerow_message.last_attempt_at, duerow_message.last_error
    AS last_error
FROM duerow_message
WHERE duerow_message.id = COALESCE((SELECT TOP (1) other.id
FROM duerow_message AS other
WHERE other.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND other.[group] = CAST(CAST(:group_in
    AS NVARCHAR(4000)) AS VARBINARY(8000)) AND other.leased_by IS NOT NULL AND other.id != CAST(:id_in AS BIGINT)),
    (SELECT TOP (1) other.id
FROM duerow_message AS other
WHERE other.queue = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND other.[group] = CAST(CAST(:group_in
    AS NVARCHAR(4000)) AS VARBINARY(8000)) AND other.status IN ('new', 'error') AND other.id < CAST(:id_in AS BIGINT)
ORDER BY other.id))
