-- Add one message and return its id; nothing if a live message holds the key. Wakes who sleeps.
DECLARE @now DATETIME2(6) = SYSUTCDATETIME(); INSERT INTO duerow_message (id, queue, [key], kind, payload, headers,
    [group], priority, status, due_at, first_due_at, attempts, token, created_at)
OUTPUT inserted.id SELECT NEXT VALUE FOR [duerow_message_id], fresh.queue, fresh.[key], fresh.kind, fresh.payload,
    fresh.headers, fresh.[group], fresh.priority, fresh.status, fresh.due_at, fresh.first_due_at, fresh.attempts,
    fresh.token, fresh.created_at
FROM (SELECT CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AS queue, CAST(CAST(:key_in AS NVARCHAR(4000))
    AS VARBINARY(8000)) AS [key], CAST(:kind_in AS NVARCHAR(MAX)) AS kind, CAST(:payload_in AS NVARCHAR(MAX)) AS
    payload, NULL AS headers, CAST(NULL AS VARBINARY(700)) AS [group], 0 AS priority, 'new' AS status, @now AS due_at,
    @now AS first_due_at, 0 AS attempts, 0 AS token, @now AS created_at, row_number() OVER (PARTITION BY
    CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)), CAST(CAST(:key_in AS NVARCHAR(4000)) AS
    VARBINARY(8000))
ORDER BY (SELECT 1)) AS copy_number
WHERE NOT (EXISTS (SELECT *
FROM duerow_queue
WHERE duerow_queue.name = CAST(CAST(:queue_in AS NVARCHAR(4000)) AS VARBINARY(8000)) AND duerow_queue.draining = 1)))
    AS fresh
WHERE (fresh.[key] IS NULL OR fresh.copy_number = 1 AND NOT EXISTS (SELECT 1
FROM duerow_message AS held WITH (ROWLOCK, UPDLOCK, HOLDLOCK, FORCESEEK, INDEX(duerow_message_key))
WHERE held.queue = fresh.queue AND held.[key] = fresh.[key] AND held.[key] IS NOT NULL AND held.status IN ('new',
    'error') AND fresh.[key] IS NOT NULL AND fresh.status IN ('new', 'error')))
