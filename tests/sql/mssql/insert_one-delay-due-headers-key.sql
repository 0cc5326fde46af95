-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id SELECT NEXT VALUE FOR [duerow_message_id], fresh.queue, fresh.[key], fresh.kind, fresh.payload,
    fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts,
    fresh.token, fresh.created_at
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS queue, CAST(CAST(:key_in AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [key], :kind_in AS kind, :payload_in AS payload, :headers_in AS headers, CAST(NULL AS
    VARBINARY(700)) AS [group], 0 AS priority, 'new' AS status, COALESCE(CAST(:due_in AS DATETIME2(6)),
    dateadd(MICROSECOND, CAST(:delay_in AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:delay_in AS BIGINT) / 1000000) %
    86400, dateadd(DAY, (CAST(:delay_in AS BIGINT) / 1000000) / 86400, @now))), @now) AS due_at, COALESCE(CAST(:due_in
    AS DATETIME2(6)), dateadd(MICROSECOND, CAST(:delay_in AS BIGINT) % 1000000, dateadd(SECOND, (CAST(:delay_in AS
    BIGINT) / 1000000) % 86400, dateadd(DAY, (CAST(:delay_in AS BIGINT) / 1000000) / 86400, @now))), @now) AS
    first_due_at, 0 AS attempts, 0 AS token, @now AS created_at) AS fresh
WHERE NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error'))
